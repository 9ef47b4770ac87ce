// What nodes that are only observed would be told, beside what is in force on them, summed by pool.
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

  // What was decided of a node: kept where the node is only observed, and dropped where it is written. `shown`: in the
  // metrics too.
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
