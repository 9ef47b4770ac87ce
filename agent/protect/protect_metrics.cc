#include "agent/protect/protect_metrics.h"

#include "model/node_strategy.h"
#include "model/reason.h"

namespace tidemark::agent {

ProtectMetrics::ProtectMetrics(base::Registry& metrics)
    : metrics_(metrics),
      off_(metrics.gauge("tidemark_agent_off",
                         "1 while co-location is off on this node, by its mark or on the machine.")),
      holds_(
          metrics.gauge("tidemark_agent_holds", "1 during safe start, after the agent ended unexpectedly too often.")),
      files_refused_(metrics.gauge("tidemark_agent_files_refused", "Control files that refuse the wanted value.")),
      files_left_(metrics.gauge("tidemark_agent_files_left", "Files of groups that are left to another writer.")),
      intents_unmet_(
          metrics.gauge("tidemark_agent_intents_unmet", "Wanted values that no file of this kernel can hold.")),
      pods_refused_(metrics.gauge("tidemark_agent_pod_annotations_refused",
                                  "Pods whose annotation koordinator.sh/cpuQOS cannot be read.")),
      journal_refused_(
          metrics.counter("tidemark_agent_journal_refused_total",
                          "Passes without kernel writes because the restore journal could not be written.")) {
  for (const model::Strategy strategy : model::kStrategies) {
    const auto at = static_cast<std::size_t>(strategy);
    const auto name = model::to_string(strategy);
    enforces_[at] =
        &metrics.gauge("tidemark_agent_enforces", "1 if the decisions of a strategy are written on this node, else 0.",
                       {{"component", name}});
    files_in_force_[at] = &metrics.gauge("tidemark_agent_files_in_force",
                                         "Files of groups that hold a value of a strategy; for oomOrder, processes.",
                                         {{"component", name}});
  }
}

void ProtectMetrics::show(const AgentStatus& status, std::size_t pods_refused) {
  for (const StrategyStatus& each : status.strategies) {
    const auto at = static_cast<std::size_t>(each.strategy);
    const bool enforced = each.permit == to_string(policy::state::Permit::kEnforce) && status.trouble.empty();
    enforces_[at]->set(enforced ? 1 : 0);
    files_in_force_[at]->set(static_cast<double>(each.in_force));
  }
  off_.set(status.off ? 1 : 0);
  holds_.set(status.holding ? 1 : 0);
  files_refused_.set(static_cast<double>(status.refused));
  files_left_.set(static_cast<double>(status.left));
  intents_unmet_.set(static_cast<double>(status.unmet));
  pods_refused_.set(static_cast<double>(pods_refused));
}

ProtectMetrics::OfClass& ProtectMetrics::of_class(const std::string& name) {
  const auto found = classes_.find(name);
  if (found != classes_.end()) return found->second;
  const base::Labels labels = {{"class", name}};
  OfClass made{metrics_.gauge("tidemark_agent_class_satisfaction_ratio",
                              "Processors that a class of offline work has, of those that it asked for, while it wants "
                              "more than it has; else 1.",
                              labels)};
  return classes_.emplace(name, made).first->second;
}

void ProtectMetrics::show(std::span<const policy::protect::ClassShare> classes) {
  for (auto& [name, each] : classes_) each.here = false;
  for (const policy::protect::ClassShare& share : classes) {
    OfClass& of = of_class(share.name);
    of.here = true;
    of.satisfaction.set(static_cast<double>(share.satisfaction_permille.value_or(1000)) / 1000);
  }
  for (auto& [name, each] : classes_) {
    if (!each.here) each.satisfaction.set(1);
  }
}

void ProtectMetrics::wrote(model::Strategy strategy, model::Reason reason) {
  metrics_
      .counter("tidemark_agent_kernel_writes_total",
               "Writes to files of groups and of processes, including failed ones.",
               {{"component", model::to_string(strategy)}, {"reason", model::reason_id(reason)}})
      .add();
}

}  // namespace tidemark::agent
