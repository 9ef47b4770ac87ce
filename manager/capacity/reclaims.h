// Amount to reclaim from work on nodes, by class: kept for the NodeSLOs (for the agents), exported as metrics and sent
// as events. The YARN operator reads it beside the offer of its side (overcommit_controller).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/capacity/decide.h"
#include "manager/specs/node_specs.h"
#include "model/annotations.h"
#include "model/names.h"

namespace tidemark::manager {

class Reclaims {
 public:
  // `specs` is called only on changes.
  Reclaims(base::Registry& metrics, kube::EventRecorder& recorder, NodeSpecs& specs);

  // `tells`: this process sends the events.
  void take(const kube::Node& node, const NodeDecision& decision, bool tells);
  void forget(const model::NodeName& node);

  // Of the node's pods; nullopt: not decided by this process yet.
  std::optional<std::vector<model::Reclaim>> of(std::string_view node) const;

 private:
  struct Sum {
    std::int64_t nodes = 0;
    model::Resources amount;
  };
  struct Known {
    std::string pool;
    std::vector<model::Reclaim> kubernetes, yarn;
    std::vector<model::Reclaim> told_kubernetes, told_yarn;  // as last published
  };
  bool was_asked(const std::string& node) const;
  void count(const Known& known, int sign);
  void side(std::string_view pool, std::string_view side, const std::vector<model::Reclaim>& reclaim, int sign);

  base::Registry& metrics_;
  kube::EventRecorder& recorder_;
  NodeSpecs& specs_;
  std::unordered_map<std::string, Known> nodes_;
  std::map<std::pair<std::string, std::string>, Sum> sums_;  // by pool and side
};

}  // namespace tidemark::manager
