// The ResourceManager of one YARN cluster as calls, whichever of its machines is active now: one kept connection to its
// admin port and one to its client port. With HA the active one is found by asking all at once, and again when it turns
// out to be on standby or away, or is silent while another says that it is active.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "hadoop/application_submission.h"
#include "hadoop/applications.h"
#include "hadoop/containers.h"
#include "hadoop/rpc_client.h"
#include "hadoop/yarn_records.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::hadoop {

struct RmAddresses {
  std::string id;  // of yarn.resourcemanager.ha.rm-ids; empty without HA
  Address client;
  Address admin;
  std::optional<net::Url> web{};  // nullopt: unknown
};

struct RmCluster {
  std::vector<RmAddresses> members;  // one at least; more than one, or one with an id: HA
  Identity identity;
  std::optional<Security> security{};  // Kerberos
  MakeGss make_gss{};                  // with Kerberos
};

class ResourceManager {
 public:
  ResourceManager(net::EventLoop& loop, net::WorkerPool* workers, RmCluster cluster, base::Random random);
  ~ResourceManager();
  ResourceManager(const ResourceManager&) = delete;
  ResourceManager& operator=(const ResourceManager&) = delete;

  // All nodes in these states; empty: in any state.
  net::Task<Result<NodeReports>> nodes(std::vector<NodeState> states, base::Duration limit);
  // What all applications together ask for and do not have, and what share is used, of nodes without a label.
  net::Task<Result<QueueReport>> root_queue(base::Duration limit);
  // kNotFound: this ResourceManager knows no such application, or no longer.
  net::Task<Result<ApplicationReport>> application(ApplicationId id, base::Duration limit);
  // kNotFound: it has ended, or never was.
  net::Task<Result<ContainerReport>> container(ContainerId id, base::Duration limit);
  net::Task<Result<ApplicationId>> reserve_application(base::Duration limit);
  // Also done if this ResourceManager has the id already.
  net::Task<Result<void>> submit(ApplicationSubmission submission, base::Duration limit);
  net::Task<Result<ApplicationState>> application_state(ApplicationId id, base::Duration limit);  // kNotFound
  // Applications with the tag that have not ended.
  net::Task<Result<std::vector<ApplicationState>>> running_applications(std::string tag, base::Duration limit);
  net::Task<Result<void>> kill(ApplicationId id, base::Duration limit);
  // In one call. Done when the server has taken it: what its scheduler makes of it shows in a later report.
  net::Task<Result<void>> update(std::vector<NodeUpdate> updates, base::Duration limit);

  // Source of the last answer; null before the first, and while none of several is known to be active.
  const RmAddresses* active() const { return active_ ? &cluster_.members[*active_] : nullptr; }
  const std::vector<RmAddresses>& members() const { return cluster_.members; }
  // HA state of each member, in their order; all are asked at once. A server without HA that answers is active.
  net::Task<std::vector<Result<HaState>>> states();
  // How often the active one was found to be another than before.
  std::uint64_t failovers() const { return failovers_; }
  std::uint64_t calls() const;
  std::uint64_t connections() const;

 private:
  struct Member;

  bool has_peers() const { return cluster_.members.size() > 1 || !cluster_.members.front().id.empty(); }
  struct Tried {
    std::optional<Result<std::string>> answer{};  // nullopt: given up, another is active
    std::size_t another = 0;                      // that one
  };
  net::Task<Result<std::string>> ask_active(Method method, std::string request, base::Duration limit);
  net::Task<Tried> ask_while_active(std::size_t number, Method method, const std::string& request,
                                    base::Duration limit);
  net::Task<Result<HaState>> state_of(std::size_t number, base::Duration limit);
  net::Task<Result<std::size_t>> find_active(base::Duration limit);

  net::EventLoop& loop_;
  const RmCluster cluster_;
  std::vector<std::unique_ptr<Member>> members_;
  std::optional<std::size_t> active_;
  std::optional<std::size_t> last_active_;
  std::uint64_t failovers_ = 0;
};

}  // namespace tidemark::hadoop
