// Applications and queues at a ResourceManager's REST API: /ws/v1/cluster/apps and /ws/v1/cluster/scheduler. Of several
// ResourceManagers the active one answers; a standby one redirects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hadoop/negotiate.h"
#include "hadoop/queues.h"
#include "hadoop/resource_manager.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kApplicationsAnswerBytesMax = 64 * 1024 * 1024;
inline constexpr std::size_t kApplicationDiagnosticsMax = 4096;  // bytes; the rest is cut

struct ApplicationState {
  std::string id;
  std::string state;         // NEW, NEW_SAVING, SUBMITTED, ACCEPTED, RUNNING, FINISHED, FAILED, KILLED
  std::string final_status;  // UNDEFINED, SUCCEEDED, FAILED, KILLED
  std::string diagnostics;
  std::string master_log;         // URL of the log of its master; "" before it has one
  std::vector<std::string> tags;  // in lower case
};
Result<std::vector<ApplicationState>> parse_application_list(std::string_view json);
Result<ApplicationState> parse_application(std::string_view json);

class ApplicationsRest {
 public:
  // `workers` resolves names. Members without a web address are not asked.
  ApplicationsRest(net::EventLoop& loop, net::WorkerPool* workers, const RmCluster& cluster, std::string user);

  net::Task<Result<std::string>> reserve_id(base::Duration limit);
  // Also done if the ResourceManager has this id already. kInvalid: it refused the application.
  net::Task<Result<void>> submit(std::string body, base::Duration limit);
  net::Task<Result<ApplicationState>> find(std::string id, base::Duration limit);  // kNotFound
  // Applications with the tag that have not ended.
  net::Task<Result<std::vector<ApplicationState>>> running(std::string tag, base::Duration limit);
  net::Task<Result<void>> kill(std::string id, base::Duration limit);
  // The leaf queues of the scheduler.
  net::Task<Result<std::vector<QueueState>>> queues(base::Duration limit);

 private:
  struct Member {
    std::unique_ptr<net::HttpClient> client;
    std::unique_ptr<NegotiatingTransport> proving;  // with Kerberos
  };
  net::Task<Result<net::HttpResponse>> ask(std::string method, std::string path, std::string body,
                                           base::Duration limit);

  std::vector<Member> members_;
  std::string user_;
  std::size_t active_ = 0;
};

}  // namespace tidemark::hadoop
