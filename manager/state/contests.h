// Detects a second writer of the amounts on our nodes, from the changes of each node (policy/contest), and for a whole
// pool if several of its nodes have one. A node that is left to another writer is only observed, until that writer has
// been quiet for a while or an order switches the node on.
//
// A node that only follows its pool was not seen to be fought over. It is cut, for whom a cut protects, and nothing
// else; and one overwrite is enough there for it to be left to the other writer itself. So a pool of N nodes that is
// another manager's costs each of them one cut at most, and no war.
//
// What counts: an amount that we had written became another that we did not write, or went, on the same node, while its
// state mark stayed as it was. Amounts that go count too: a manager that has co-location off takes them away as often
// as they come. A node that is registered anew is another node. Who did it is read from managedFields, when it happens.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/state/pools_left.h"
#include "manager/state/standing.h"
#include "model/names.h"
#include "model/node.h"
#include "net/loop.h"
#include "policy/contest/contest.h"

namespace tidemark::manager {

// The last other writer of a batch or mid amount of the node: "koord-manager (Update)"; "" if unnamed.
std::string writer_of_amounts(std::string_view node_bytes);

struct ContestContext {
  kube::Reader& reader;
  kube::EventRecorder& recorder;
  const kube::Informer<kube::Node>& nodes;
  std::function<bool()> leading;
  std::function<std::string(const kube::Node&)> pool_of;
  std::function<void(const std::string& node)> look_at;  // what holds of the node has changed
  std::function<void()> look_at_all;
  policy::ContestConfig config = {};
};

class Contests {
 public:
  Contests(net::EventLoop& loop, ContestContext context, const base::Log& log, base::Registry& metrics);

  void before_write(const model::NodeName& node, const model::ExtendedResources& amounts);
  void after_write(const model::NodeName& node, bool written);
  void lost_write(
      const model::NodeName& node);  // the node may exist or not; the next change is not attributed to a second writer
  void node_changed(const std::string& name, const kube::Node* before, const kube::Node* after);
  // A new leader goes on where its predecessor stood back: the nodes' conditions tell.
  void take_over();
  void leave();  // another one leads: what is known here goes stale

  // Why the node is not written, if so (kContestPool: only cut); `again_after` is when time alone may change that.
  struct Held {
    std::optional<model::Reason> reason;
    std::string why;
    std::optional<base::Duration> again_after;
  };
  Held look(const kube::Node& node);

 private:
  struct Entry {
    std::optional<model::ExtendedResources> ours;     // what we wrote last
    std::optional<model::ExtendedResources> pending;  // what we are writing
    policy::ContestState contest;
    std::int64_t mark_generation = 0;  // of the node's mark when we stood back
    std::string pool;                  // that it was counted in when we stood back
    std::string writer;
  };
  void happens(const std::string& name, const kube::Node& node, Entry& entry, policy::ContestEvent event);
  void stands_back(const std::string& name, const kube::Node& node, Entry& entry);
  void returns(const std::string& name, Entry& entry, model::Reason reason);
  bool count(const std::string& pool, int by);
  base::Gauge& contested(const std::string& pool);
  net::Task<void> find_writer(std::string name);

  net::EventLoop& loop_;
  ContestContext context_;
  base::Log log_;
  base::Registry& metrics_;
  std::unordered_map<std::string, Entry> entries_;
  PoolsLeft left_{context_.nodes, context_.pool_of};
  net::Scope scope_;
};

}  // namespace tidemark::manager
