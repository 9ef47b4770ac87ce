#include "operate/plan_changes.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tidemark::operate {
namespace {

void add(Offered& sum, const Offered& more) {
  sum.batch_cpu += more.batch_cpu;
  sum.batch_memory += more.batch_memory;
  sum.mid_cpu += more.mid_cpu;
  sum.mid_memory += more.mid_memory;
}

}  // namespace

Offered offered_of(const manager::NodeDecision& decision, const std::string& pool) {
  const auto& state = decision.permit.state;
  const bool off = state.k8s >= model::NodeState::kDraining;
  const auto& plan = off ? decision.plan() : decision.offer.plan;
  // A node that is held stays as it is.
  const auto& carries = plan.action == policy::sell::PlanAction::kHold ? decision.snapshot.published : plan.publish;
  const auto value = [](const auto& amount) { return amount ? amount->value : 0; };
  return {value(carries.batch_cpu),
          value(carries.batch_memory),
          value(carries.mid_cpu),
          value(carries.mid_memory),
          off ? policy::state::reason_of(state) : plan.reason,
          pool,
          off};
}

std::vector<std::string> changed_parts(const policy::settings::SloSpec& before,
                                       const policy::settings::SloSpec& after) {
  std::vector<std::string> changed;
  for (std::size_t part = 0; part < before.parts.size(); ++part) {
    if (before.parts[part].text == after.parts[part].text) continue;
    changed.emplace_back(policy::settings::slo_part_info(static_cast<model::SloPart>(part)).key);
  }
  if (before.ours != after.ours) changed.emplace_back("agent");  // its modes, the classes of offline work
  return changed;
}

std::map<std::string, PlanSum> sums_of(const std::vector<NodeChange>& nodes) {
  std::map<std::string, PlanSum> sums;
  sums[""];
  for (const NodeChange& node : nodes) {
    for (PlanSum* sum : {&sums[""], &sums[node.after.pool]}) {
      ++sum->nodes;
      sum->changed += node.changes() ? 1 : 0;
      sum->slo_changed += node.slo_parts.empty() ? 0 : 1;
      sum->off += node.after.off ? 1 : 0;
      add(sum->before, node.before);
      add(sum->after, node.after);
      add(sum->end, node.end);
    }
  }
  return sums;
}

std::vector<NodeChange> changes_by_size(std::vector<NodeChange> nodes) {
  std::erase_if(nodes, [](const NodeChange& node) { return !node.changes(); });
  const auto size = [](const NodeChange& node) {
    return std::pair(std::abs(node.end.batch_cpu - node.before.batch_cpu),
                     std::abs(node.end.batch_memory - node.before.batch_memory));
  };
  std::sort(nodes.begin(), nodes.end(), [&](const NodeChange& a, const NodeChange& b) {
    if (size(a) != size(b)) return size(a) > size(b);
    return a.node < b.node;
  });
  return nodes;
}

}  // namespace tidemark::operate
