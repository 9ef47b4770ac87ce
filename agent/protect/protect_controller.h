// Protects the node: asks the strategies what is right for its groups, and writes it as far as permitted
// (policy/state/permits.h). Runs each second after the node was measured, and at once if the state mark of the node,
// its settings or the latch change.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/enforcer/enforcer.h"
#include "agent/enforcer/found_journal.h"
#include "agent/feature_gates.h"
#include "agent/latch/ends.h"
#include "agent/latch/latch_watch.h"
#include "agent/machine_places.h"
#include "agent/protect/condition_controller.h"
#include "agent/protect/host_peer.h"
#include "agent/protect/node_facts.h"
#include "agent/protect/oom_order.h"
#include "agent/protect/protect_metrics.h"
#include "agent/protect/status.h"
#include "agent/protect/strategies.h"
#include "agent/protect/write_audit.h"
#include "agent/reaction/reaction_controller.h"
#include "agent/sampler/measured.h"
#include "agent/tasks/pod_groups.h"
#include "agent/tasks/task_list.h"
#include "agent/tasks/told_once.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/write.h"
#include "model/audit_line.h"
#include "model/node_record.h"
#include "net/loop.h"
#include "policy/state/peer.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

struct ProtectOptions {
  MachinePlaces places;
  model::Mode mode = model::Mode::kEnforce;  // of strategies without settings
  std::string actor;                         // in the audit
  std::string kubelet_dir = "/var/lib/kubelet";
  KnobTrials trials{};   // of the kernel, for the status
  FeatureGates gates{};  // strategies without settings are enforced only if their gate is on
  std::vector<policy::explain::MeasureFound> measures{};  // of the machine, for the status
  std::string peers_namespace{policy::state::kPeersNamespace};
  std::string only_shows{};            // why nothing can be written here, whatever the settings; "": something can
  std::string gates_without_effect{};  // feature gates of Koordinator's agent that are on, for the status
};

// External parts, which outlive it.
struct ProtectOutside {
  const linux::Hierarchies& hierarchies;
  linux::GroupWriter& writer;
  ConditionController& condition;
  std::function<void(model::AuditLine)> audit;  // may be empty
  Reactor* reactor = nullptr;                   // null: no reaction between two decisions
};

class ProtectController {
 public:
  ProtectController(net::EventLoop& loop, ProtectOutside outside, const base::Log& log, base::Registry& metrics,
                    Machinery machinery, ProtectOptions options);
  ProtectController(const ProtectController&) = delete;
  ProtectController& operator=(const ProtectController&) = delete;

  // Sets the facts of the Node, whenever they change.
  void use_node(NodeFacts facts);
  void use_rules(policy::protect::NodeRules rules);

  // To be called after each pass of the sampler. `known`: every provider has answered.
  void observe(const Measured& measured, const std::shared_ptr<const TaskSnapshot>& tasks, const PodGroups& groups,
               bool known);
  // Decides again on the last observation, because settings changed.
  void decide();

  // The reaction thread could not be started: reported from the next decision on.
  void no_thread() { reaction_.no_thread(); }

  // The permits of the last decision.
  const policy::state::AgentPermits& permits() const { return permits_; }
  const NodeFacts* facts() const { return facts_ ? &*facts_ : nullptr; }  // null: the Node is not known yet
  const policy::protect::SuppressObservation& suppress_seen() const { return strategies_.suppress_seen(); }
  // CPU count per container of offline work, if smaller than that of its group: the kubelet's CPU manager is static and
  // suppression is by CPU set. nullopt: containers have the CPUs of the group.
  std::optional<std::int64_t> container_cpus() const;
  const policy::protect::SuppressPlan& suppress_plan() const { return strategies_.suppress_plan(); }
  std::span<const policy::protect::ClassShare> classes() const { return strategies_.suppress_plan().classes; }
  // The status of eviction, which decides for itself (agent/evict); reported with the others. `lines`: eviction
  // thresholds that differ from the settings.
  void tell_eviction(std::string_view says, std::string_view lines) {
    eviction_says_ = says;
    evict_lines_ = lines;
  }
  // Raised thresholds that ended and that no manager lowered; "" if there are none.
  void tell_line_ends(std::string_view says) { line_ends_ = says; }
  // The same for limits that copilots set themselves.
  void tell_copilots(std::string_view says) { copilots_say_ = says; }

  // An orderly end: values in force stay for the next agent.
  void drain();

  const AgentStatus& status() const { return status_; }
  // The values that the last decision wants in the cgroups of the task, and what became of them. Reads no file.
  std::vector<model::TaskLimit> limits_of(const model::Task& task) const;

 private:
  bool begin();  // whether it may write; tried again from time to time
  Result<FoundJournal> open_journal();
  void look_at_kubelet(base::MonotonicTime now);
  void look_for_online_in_besteffort();
  policy::state::AgentPermits find_permits() const;
  void forget_ends();
  void withdraw_reaction();
  void tell_refused();
  void tell(const Enforced& enforced);
  void fill_status(const policy::state::AgentPermits& permits, const Enforced& enforced);
  void show(const policy::state::AgentPermits& permits, const Enforced& enforced);

  net::EventLoop& loop_;
  ProtectOutside outside_;
  base::Log log_;
  ProtectMetrics metrics_;
  ProtectOptions options_;
  WriteAudit audit_;
  LatchWatch latch_;
  PeerWatch peer_;
  Strategies strategies_;

  std::optional<NodeFacts> facts_;
  std::optional<policy::protect::NodeRules> rules_;
  std::shared_ptr<const TaskSnapshot> tasks_;
  const Measured* measured_ = nullptr;
  const PodGroups* groups_ = nullptr;
  bool known_ = false;

  std::optional<FoundLock> lock_;  // of a journal that cannot be read
  std::optional<FoundJournal> journal_;
  std::unique_ptr<Enforcer> enforcer_;
  ReactionController reaction_;
  OomOrder oom_;
  std::optional<Ends> ends_;
  base::MonotonicTime began_;
  std::optional<base::MonotonicTime> begin_again_;
  std::optional<base::MonotonicTime> looked_at_kubelet_;
  std::optional<std::uint64_t> looked_at_tasks_;  // TaskSnapshot::change
  bool kubelet_static_ = false;
  bool holding_ = false;
  policy::state::AgentPermits permits_;
  std::string eviction_says_, evict_lines_, line_ends_, copilots_say_;
  std::string trouble_;  // why nothing can be written
  ToldOnce told_refused_;
  AgentStatus status_, next_status_;  // as last shown; current
  std::optional<base::MonotonicTime> shown_at_;
};

}  // namespace tidemark::agent
