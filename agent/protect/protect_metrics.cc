#include "agent/protect/protect_metrics.h"

#include "model/node_strategy.h"
#include "model/reason.h"

namespace tidemark::agent {

ProtectMetrics::ProtectMetrics(base::Registry& metrics)
    : metrics_(metrics),
      off_(metrics.gauge("tidemark_agent_off",
                         "1 while co-location is off on this node, by its mark or on the machine.")),
      holds_(metrics.gauge("tidemark_agent_holds",
                           "1 while the agent keeps what stands because it ended unexpectedly too often.")),
      files_refused_(metrics.gauge("tidemark_agent_files_refused",
                                   "Files of groups that the kernel does not take as they are wanted.")),
      files_left_(metrics.gauge("tidemark_agent_files_left",
                                "Files of groups that are left to somebody else who changes them.")),
      wishes_unmet_(metrics.gauge("tidemark_agent_wishes_unmet",
                                  "What strategies want of groups, and no file of this kernel meets.")),
      pods_refused_(metrics.gauge("tidemark_agent_pod_annotations_refused",
                                  "Pods whose annotation koordinator.sh/cpuQOS cannot be read.")),
      journal_refused_(metrics.counter(
          "tidemark_agent_journal_refused_total",
          "Passes in which the journal of what was found could not be written, so that no kernel file was.")) {
  for (const model::Strategy strategy : model::kStrategies) {
    const auto at = static_cast<std::size_t>(strategy);
    const auto name = model::to_string(strategy);
    enforces_[at] =
        &metrics.gauge("tidemark_agent_enforces", "1 where what a strategy decides is written on this node, else 0.",
                       {{"component", name}});
    files_in_force_[at] = &metrics.gauge("tidemark_agent_files_in_force",
                                         "Files of groups that say something of a strategy.", {{"component", name}});
  }
}

void ProtectMetrics::show(const AgentStatus& status, std::size_t pods_refused) {
  for (const StrategyStatus& each : status.strategies) {
    const auto at = static_cast<std::size_t>(each.strategy);
    const bool enforced = each.stance == policy::to_string(policy::Permit::kEnforce) && status.trouble.empty();
    enforces_[at]->set(enforced ? 1 : 0);
    files_in_force_[at]->set(static_cast<double>(each.in_force));
  }
  off_.set(status.off ? 1 : 0);
  holds_.set(status.holding ? 1 : 0);
  files_refused_.set(static_cast<double>(status.refused));
  files_left_.set(static_cast<double>(status.left));
  wishes_unmet_.set(static_cast<double>(status.unmet));
  pods_refused_.set(static_cast<double>(pods_refused));
}

void ProtectMetrics::wrote(const Deed& deed) {
  metrics_
      .counter("tidemark_agent_kernel_writes_total", "Writes to files of groups, and those that did not come about.",
               {{"component", model::to_string(deed.strategy)}, {"reason", model::reason_id(deed.reason)}})
      .add();
}

}  // namespace tidemark::agent
