// Sums per pool what observed nodes would offer in mode enforce, and what they offer now.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/metrics.h"
#include "manager/capacity/decide.h"
#include "model/names.h"

namespace tidemark::manager {

class ObservedSums {
 public:
  explicit ObservedSums(base::Registry& metrics) : metrics_(metrics) {}

  // Keeps the decision of a node if the node is only observed, and drops it if the node is written. `shown`: also in
  // the metrics.
  void take(const model::NodeName& node, const NodeDecision& decision, bool shown);
  void remove(const model::NodeName& node);
  bool has(const model::NodeName& node) const { return nodes_.contains(node); }

 private:
  struct Amounts {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    bool operator==(const Amounts&) const = default;
  };
  struct Node {
    std::string pool;
    Amounts wanted;
    Amounts in_force;
    bool shown = false;
    bool operator==(const Node&) const = default;
  };
  void add(const Node& node, double sign);

  base::Registry& metrics_;
  std::unordered_map<model::NodeName, Node> nodes_;
};

}  // namespace tidemark::manager
