#include "agent/evicting.h"

#include <utility>

namespace tidemark::agent {

Evicting::Evicting(net::EventLoop& loop, const AgentConnections& connections, const AgentOptions& options,
                   const base::Log& log, base::Registry& metrics, Beside beside)
    : log_(log),
      report_(options.report),
      acts_(options.only_shows.empty()),
      beside_(std::move(beside)),
      killer_(beside_.hierarchies, connections.killing),
      events_(loop, connections.client, log_, metrics, "tidemark-agent"),
      losses_(loop, log_, metrics, options.state_dir),
      yarn_reclaim_(loop, connections.client.ahead(), log_, options.node_name, options.yarn_hold_back),
      ending_(
          loop,
          {connections.client, connections.client, options.node_name, killer_,
           [this](const model::Task& task) { return beside_.tasks.copilot_of(task); }, &yarn_reclaim_, beside_.audit},
          log_, options.audit_actor),
      left_overs_(loop, ending_, log_),
      ends_(loop, connections.client, log_, options.node_name),
      disks_(loop, connections.disks, log_, metrics,
             {options.tasks.kubelet.dir, options.tasks.kubelet.runtime_dir, options.pod_logs},
             [this] { return beside_.tasks.held_on_disks(); }),
      memory_(log_, options.places.run_dir, options.places.proc_root),
      lines_(log_),
      pods_room_(beside_.hierarchies),
      controller_(loop, {ending_, &events_, &losses_, &memory_, &ends_}, log_, metrics,
                  eviction_defaults(options.feature_gates.evictions(), options.alone)),
      scope_(loop) {}

void Evicting::start() {
  scope_.spawn(events_.run());
}

void Evicting::use_node(const kube::Node& node) {
  yarn_reclaim_.use_node(node);
  ends_.use_node(node);
}

void Evicting::observe(const Measured& measured, const std::shared_ptr<const TaskSnapshot>& tasks,
                       const policy::protect::NodeRules& rules_in_force, model::MemoryBytes node_memory, bool word) {
  const ProtectController& protect = beside_.protect;
  const policy::state::AgentPermits& permits = protect.permits();
  constexpr auto kIndex = static_cast<std::size_t>(model::Strategy::kEviction);
  const BesteffortInForce besteffort =
      besteffort_in_force(protect.suppress_seen(), protect.suppress_plan(), protect.container_cpus());
  // Observe mode reads the same as enforce mode. If eviction cannot act at all, a full disk is not scanned.
  const bool may_act = !permits.off && (permits.permits[kIndex] == policy::state::Permit::kEnforce ||
                                        permits.permits[kIndex] == policy::state::Permit::kRestore);
  const policy::protect::NodeRules& rules =
      lines_.hold(rules_in_force, beside_.tasks.kubelet(), node_memory, disks_.sights());
  disks_.observe(rules.word && rules.threshold.enable ? rules.word->evict : model::EvictSettings(), *tasks, may_act);
  const std::string* group = group_of_pods();
  controller_.observe({.seen = {protect.facts(), measured, *tasks, rules.threshold, besteffort, &disks_.sights(),
                                permits.off, permits.withdrawn, left_to_pods(rules.threshold),
                                group != nullptr ? std::string_view(*group) : std::string_view()},
                       .tasks = tasks,
                       .rules = rules,
                       .permit = permits.permits[kIndex],
                       .yarn_preempts = yarn_reclaim_.heard()});
  beside_.protect.tell_eviction(controller_.says(), lines_.says());
  if (acts_) left_overs_.observe(permits.evicts, *tasks);  // an order of a person applies in each mode
  ends_.observe(tasks, word && report_);
}

net::Task<void> Evicting::drain(base::Duration patience) {
  co_await ends_.drain(patience);
  co_await losses_.drain(patience);
}

// The group of all pods; null if it does not exist.
const std::string* Evicting::group_of_pods() const {
  const linux::Kubepods* kubepods = beside_.tasks.groups().kubepods();
  return kubepods == nullptr ? nullptr : &kubepods->qos_path(linux::KubeQos::kGuaranteed);
}

// Read only if a threshold needs it.
std::optional<model::MemoryBytes> Evicting::left_to_pods(const policy::protect::ThresholdRules& rules) {
  const std::string* group = group_of_pods();
  if (!rules.enable || !rules.pods_before_kubelet_percent || group == nullptr) return std::nullopt;
  const auto left = pods_room_.look(*group);
  if (left) return *left;
  beside_.unreadable.add();
  log_.warn("cannot read a kernel value", {{"error", left.error().message}});
  return std::nullopt;
}

}  // namespace tidemark::agent
