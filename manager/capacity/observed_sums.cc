#include "manager/capacity/observed_sums.h"

#include <utility>

namespace tidemark::manager {

void ObservedSums::take(const model::NodeName& name, const NodeDecision& decision, bool shown) {
  if (decision.writes()) return remove(name);
  const auto amounts = [](const model::ExtendedResources& of) {
    return Amounts{of.batch_cpu.value_or(model::CpuMilli{}).value,
                   of.batch_memory.value_or(model::MemoryBytes{}).value};
  };
  const bool holds = decision.plan().action == policy::sell::PlanAction::kHold;
  const Amounts in_force = amounts(decision.snapshot.published);
  Node node{decision.permit.pool, holds ? in_force : amounts(decision.plan().publish), in_force, shown};
  const auto before = nodes_.find(name);
  if (before != nodes_.end()) {
    if (before->second == node) return;
    add(before->second, -1);
    nodes_.erase(before);
  }
  add(node, 1);
  nodes_.emplace(name, std::move(node));
}

void ObservedSums::remove(const model::NodeName& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  add(found->second, -1);
  nodes_.erase(found);
}

void ObservedSums::add(const Node& node, double sign) {
  if (!node.shown) return;
  constexpr double kMilliPerCore = 1000;
  const auto gauge = [&](std::string_view name, std::string_view help) -> base::Gauge& {
    return metrics_.gauge(name, help, {{"pool", node.pool}});
  };
  gauge("tidemark_observed_wanted_batch_cpu_cores", "Batch CPU that observed nodes would offer in mode enforce.")
      .add(sign * static_cast<double>(node.wanted.cpu_milli) / kMilliPerCore);
  gauge("tidemark_observed_in_force_batch_cpu_cores", "Batch CPU that observed nodes offer.")
      .add(sign * static_cast<double>(node.in_force.cpu_milli) / kMilliPerCore);
  gauge("tidemark_observed_wanted_batch_memory_bytes", "Batch memory that observed nodes would offer in mode enforce.")
      .add(sign * static_cast<double>(node.wanted.memory_bytes));
  gauge("tidemark_observed_in_force_batch_memory_bytes", "Batch memory that observed nodes offer.")
      .add(sign * static_cast<double>(node.in_force.memory_bytes));
  gauge("tidemark_observed_nodes_different", "Observed nodes whose offer would change in mode enforce.")
      .add(node.wanted == node.in_force ? 0 : sign);
}

}  // namespace tidemark::manager
