// Objects that every node has one of, under the node's name (NodeSLO, NodeMetric): made with the node, kept as the
// settings say, deleted some seconds after the node is gone. What an object should say is decided elsewhere; this
// carries it out.
//
// Level, not edge: a look at a name finds out what is to be done now. Only the leader writes. Writes are patient: they
// share a part of the request budget, so that a node's capacity never waits behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/work_queue.h"
#include "manager/state/contests.h"
#include "model/names.h"
#include "model/reason.h"
#include "net/loop.h"

namespace tidemark::manager {

struct NodeObjectPlan {
  enum class Action : std::uint8_t { kNone, kCreate, kPatch, kRemove };
  Action action = Action::kNone;
  model::Reason reason = model::Reason::kObjectRight;
  std::string body;  // the whole object, or the patch
  kube::PatchType patch = kube::PatchType::kMerge;
  std::string uid;                              // of the object to remove: another of the same name stays
  std::uint64_t content = 0;                    // a hash of what of it is ours to say; 0 where there is no object
  std::uint64_t revision = 0;                   // of the object it was decided on
  std::string config_hash{};                    // of the settings that it was decided by
  std::string before{};                         // what it says now, as JSON, where that is known; for the audit
  std::optional<base::Duration> again_after{};  // time alone changes what it should say
};

struct NodeObjectKind {
  kube::Resource resource;
  std::string_view component;    // "nodeslo": of queue and metrics
  std::string_view peer_metric;  // Koordinator's count of their writes
  std::string_view peer_help;
  // From caches and settings; called once they are filled.
  std::function<NodeObjectPlan(const model::NodeName&)> decide;
  KeptObject kept = KeptObject::kNodeSlo;
  // NodeObjectPlan::content of an object as the server has it; 0 where it cannot be read.
  std::function<std::uint64_t(std::string_view bytes)> content_of;
};

struct NodeObjectWrites {
  kube::Reader& reader;
  kube::Writer& writer;
  base::TokenBucket& budget;
  std::function<bool()> leading;
  base::Duration limit;          // of one request
  Contests* contests = nullptr;  // null: second writers are not tracked
};

class NodeObjects {
 public:
  // A node that is made anew within this time keeps its objects, and with them what its agent reported last.
  static constexpr base::Duration kOrphanGrace = std::chrono::seconds(10);

  NodeObjects(net::EventLoop& loop, NodeObjectWrites writes, NodeObjectKind kind, const base::Log& log,
              base::Registry& metrics, base::Random random);

  void look_at(std::string_view node) { queue_.add(std::string(node)); }
  net::Task<void> work();  // for ever; several may run
  std::size_t writing() const { return writing_; }
  const kube::WorkQueue& queue() const { return queue_; }

 private:
  enum class Done : std::uint8_t { kSettled, kRefused, kStale, kOrphan };
  void look_again(const std::string& node, base::Duration after);
  net::Task<Result<Done>> settle(model::NodeName node);
  bool left_to_others(const NodeObjectPlan& plan, const model::NodeName& node);
  net::Task<Result<Done>> carry_out(NodeObjectPlan plan, model::NodeName node, kube::Place place);
  bool orphan_for_long(const model::NodeName& node);
  net::Task<Result<bool>> node_is_gone(const model::NodeName& node);
  void count(std::string_view what, bool succeeded);

  net::EventLoop& loop_;
  NodeObjectWrites writes_;
  NodeObjectKind kind_;
  base::Log log_;
  base::Registry& metrics_;
  kube::WorkQueue queue_;
  base::Counter& errors_;
  std::unordered_map<model::NodeName, base::MonotonicTime> orphans_;  // since when they are known to be
  std::size_t writing_ = 0;
};

}  // namespace tidemark::manager
