// Metrics of the result of co-location by pool, and of the formulas by node, computed on request. Only the leader
// exports them, so that the sum over replicas is right.
//
//   offered   batch offered to Kubernetes
//   real      the part of offered that exists; less than offered if over-reported
//   sold      requests of batch pods, and the amount held by YARN
//   used      usage of offline work (batch and free) by the nodes' reports
//   idle      unused capacity of the nodes
//   gain      used, summed over time: core-hours that would have been idle
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "model/names.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/strategy.h"
#include "policy/sell/overcommit/overcommit.h"

namespace tidemark::manager {

// Longest gap between two passes over which a node counts as unchanged.
inline constexpr base::Duration kGainGapMax = std::chrono::minutes(10);

// Upper limit per machine: ten million cores and 256 TiB.
inline constexpr model::Resources kNodeMost{{std::int64_t{10'000'000} * 1000}, {std::int64_t{1} << 48}};

struct NodeFigures {
  model::Resources capacity;
  model::Resources offered;
  model::Resources offered_real;  // offered, less the over-reported amount
  model::Resources sold_kubernetes;
  model::Resources sold_yarn;
  model::Resources used;
  model::Resources idle;
  model::Reason reason = model::Reason::kMetricMissing;
  bool silent = false;  // it would be offered something, and does not report
  // Result of the formulas before ratio and third parties; nullopt if nothing was calculated.
  std::optional<model::Resources> batch;
  std::optional<model::Resources> mid;
};
struct FigureBasis {
  model::Resources batch_requests;  // of pods on the node that hold resources
  // Why the plan is not written to the node; then the node keeps its current offer.
  std::optional<model::Reason> not_written;
  bool reports = true;  // false: the last report of the node is stale or absent
};
NodeFigures figures_of(const model::NodeSnapshot& node, const policy::sell::OvercommitPlan& plan,
                       const FigureBasis& basis);

class Figures {
 public:
  // `counts`: this process counts the gain.
  void observe(const model::NodeName& node, std::string_view pool, std::string_view business,
               const NodeFigures& figures, base::MonotonicTime now, bool counts);
  void forget(const model::NodeName& node);

  // Prometheus text, names sorted.
  std::string text() const;

 private:
  struct Pool {
    std::int64_t nodes = 0;
    std::int64_t silent = 0;
    std::string business;  // owner of the nodes; empty: unset
    model::Resources capacity, offered, offered_real, sold_kubernetes, sold_yarn, used, idle;
    std::map<model::Reason, std::int64_t> by_reason;
    double gain_core_hours = 0;
  };
  using Pools = std::map<std::string, Pool, std::less<>>;  // never shrinks, so that gain stays
  struct Node {
    Pools::iterator pool;
    NodeFigures figures;
    base::MonotonicTime when;
  };
  static void add(Pool& pool, const NodeFigures& figures, int sign);

  Pools pools_;
  std::unordered_map<model::NodeName, Node> nodes_;
};

}  // namespace tidemark::manager
