// Keeps what nodes say of their state right: copies what was ordered for the cluster and their pool onto nodes that
// joined later, takes orders off that have ended, notes that draining is over, and shows the result in a condition, an
// event and metrics. What a node sells is not decided here (manager/capacity/decide.h), and does not wait for it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "kube/work_queue.h"
#include "manager/state/node_permit.h"
#include "model/names.h"
#include "net/loop.h"

namespace tidemark::manager {

struct StateContext {
  kube::Client& client;
  kube::EventRecorder& recorder;
  kube::Interner& interner;
  const kube::Informer<kube::Node>& nodes;
  std::function<NodePermit(const kube::Node&)> permit;
  std::function<bool()> leading;
  std::function<bool()> shows;     // whether this replica exports the metrics by pool
  double queries_per_second = 10;  // of these writes
  base::Duration write_limit{0};   // of one request
};

class StateController {
 public:
  StateController(net::EventLoop& loop, StateContext context, const base::Log& log, base::Registry& metrics,
                  base::Random random);

  void look_at(const std::string& node) { queue_.add(node); }
  // The same, ahead of others where its mark has to be written: agents go by the mark alone.
  void node_changed(const std::string& node);
  net::Task<void> work();  // for ever; several may run
  bool writing() const { return writing_ > 0; }
  const kube::WorkQueue& queue() const { return queue_; }

 private:
  struct Counted {
    std::string pool;
    int what = 0;  // index in the gauges
    bool operator==(const Counted&) const = default;
  };
  net::Task<Result<std::optional<base::Duration>>> settle(model::NodeName name);
  net::Task<Result<void>> write_marks(model::NodeName name, kube::Place place);
  net::Task<Result<void>> write_taint(model::NodeName name, kube::Place place);
  net::Task<Result<void>> write_condition(model::NodeName name, kube::Place place);
  net::Task<Result<kube::Place>> turn();
  void count(const std::string& node, const NodePermit* permit);
  base::Gauge& gauge(const Counted& counted);

  net::EventLoop& loop_;
  StateContext context_;
  base::Log log_;
  base::Registry& metrics_;
  kube::WorkQueue queue_;
  base::TokenBucket budget_;
  base::Counter& errors_;
  std::unordered_map<std::string, Counted> counted_;
  // How many times in a row a node's write was refused as if it had been decided on old data.
  std::unordered_map<std::string, int> refusals_;
  std::size_t writing_ = 0;
};

}  // namespace tidemark::manager
