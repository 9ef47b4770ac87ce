// Protects the node: asks the strategies what is right for its groups, and has that carried out as far as it may be
// (policy/stance/stance.h). Each second after the node was measured, and at once where the node's mark, its settings or
// the switch on the machine change.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/enforcer/enforcer.h"
#include "agent/enforcer/found_journal.h"
#include "agent/enforcer/oom_scores.h"
#include "agent/feature_gates.h"
#include "agent/latch/ends.h"
#include "agent/machine_places.h"
#include "agent/protect/condition_controller.h"
#include "agent/protect/node_facts.h"
#include "agent/protect/protect_metrics.h"
#include "agent/protect/status.h"
#include "agent/protect/strategies.h"
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
#include "net/loop.h"
#include "policy/stance/peer.h"
#include "policy/stance/stance.h"

namespace tidemark::agent {

struct ProtectOptions {
  MachinePlaces places;
  policy::Mode mode = policy::Mode::kEnforce;  // of strategies of which nobody says anything
  std::string actor;                           // in the audit
  std::string kubelet_dir = "/var/lib/kubelet";
  KnobTrials trials{};   // of the kernel, for the status
  FeatureGates gates{};  // of what nobody says anything of, only that is enforced which they let through
  std::vector<policy::MeasureFound> measures{};  // of the machine, for the status
  std::string peers_namespace{policy::kPeersNamespace};
  std::string only_shows{};  // why nothing could be written here, whatever is said; "": something can
};

// What lies outside, and outlives it.
struct ProtectOutside {
  const linux::Hierarchies& hierarchies;
  linux::GroupWriter& writer;
  ConditionController& condition;
  std::function<void(model::AuditLine)> audit;  // may be empty
  Reactor* reactor = nullptr;                   // null: nobody reacts between two decisions
};

// New processes in groups that stay as they are get their place so soon: a child has its parent's until then.
inline constexpr base::Duration kOomLook = std::chrono::seconds(10);

class ProtectController {
 public:
  ProtectController(net::EventLoop& loop, ProtectOutside outside, const base::Log& log, base::Registry& metrics,
                    Machinery machinery, ProtectOptions options);
  ProtectController(const ProtectController&) = delete;
  ProtectController& operator=(const ProtectController&) = delete;

  // What is wanted of the node, whenever somebody says something else.
  void use_node(NodeFacts facts);
  void use_rules(policy::NodeRules rules);

  // After each pass of the sampler. `known`: everybody has said what runs here.
  void observe(const Measured& measured, const std::shared_ptr<const TaskSnapshot>& tasks, const PodGroups& groups,
               bool known);
  // What was observed last, decided anew: something else is wanted.
  void decide();

  // The thread of the reaction could not be started: that is told from the next decision on.
  void nobody_reacts() { reaction_.nobody_looks(); }

  // As it stood when it last decided.
  const policy::Stance& stands() const { return stands_; }
  const NodeFacts* facts() const { return facts_ ? &*facts_ : nullptr; }  // null: the Node is not known yet
  const policy::SuppressObservation& suppress_seen() const { return strategies_.suppress_seen(); }
  // How many processors each container of offline work is held to, where their group has more: the kubelet's CPU
  // manager is static, and it is suppressed by processors. nullopt: they have what the group has.
  std::optional<std::int64_t> container_cpus() const;
  const policy::SuppressPlan& suppress_plan() const { return strategies_.suppress_plan(); }
  std::span<const policy::ClassShare> classes() const { return strategies_.suppress_plan().classes; }
  // How eviction stands, which decides for itself (agent/evict): told with the others. `lines`: of it, that hold
  // otherwise than the settings say.
  void tell_eviction(std::string_view says, std::string_view lines) {
    eviction_says_ = says;
    evict_lines_ = lines;
  }
  // Raised lines that ended, and that no manager took back; "" where there are none.
  void tell_line_ends(std::string_view says) { line_ends_ = says; }
  // The same of what copilots limit by themselves.
  void tell_copilots(std::string_view says) { copilots_say_ = says; }

  // An orderly end: what is in force stays in force for whoever comes next.
  void drain();

  const AgentStatus& status() const { return status_; }

 private:
  bool begin();  // whether it may write; tried again from time to time
  Result<FoundJournal> open_journal();
  std::optional<Latch> look_at(const std::string& path);  // of a latch
  void look_at_latch();
  void look_at_kubelet(base::MonotonicTime now);
  void look_for_online_in_besteffort();
  policy::Stance stance() const;
  void look_for_peer(base::MonotonicTime now);
  bool sees_peer_beside_pods(base::MonotonicTime now);
  void forget_ends();
  void withdraw_reaction();
  void tell_refused();
  bool open_oom_scores(base::MonotonicTime now);
  void order_oom(base::MonotonicTime now);
  void tell(const Enforced& enforced);
  void tell_oom();
  void tell_audit(model::AuditLine line, model::Reason reason, const std::optional<Error>& error);
  std::string oom_says() const;
  void fill_status(const policy::Stance& stance, const Enforced& enforced);
  void show(const policy::Stance& stance, const Enforced& enforced);

  net::EventLoop& loop_;
  ProtectOutside outside_;
  base::Log log_;
  ProtectMetrics metrics_;
  ProtectOptions options_;
  const std::string run_latch_;
  Strategies strategies_;

  std::optional<NodeFacts> facts_;
  std::optional<policy::NodeRules> rules_;
  std::shared_ptr<const TaskSnapshot> tasks_;
  const Measured* measured_ = nullptr;
  const PodGroups* groups_ = nullptr;
  bool known_ = false;

  std::optional<FoundLock> lock_;  // of a journal that cannot be read
  std::optional<FoundJournal> journal_;
  std::unique_ptr<Enforcer> enforcer_;
  ReactionController reaction_;
  std::optional<OomScores> oom_;
  policy::OomPlan oom_asked_;  // when it was looked at last
  std::optional<std::pair<bool, Permit>> oom_stood_;
  base::MonotonicTime next_oom_;
  std::string oom_trouble_;  // told last; "" where there is none
  std::optional<Ends> ends_;
  base::MonotonicTime began_;
  std::optional<base::MonotonicTime> begin_again_;
  std::optional<Latch> latch_;
  bool latch_not_copied_ = false;         // to where it is looked at
  std::set<std::string> latches_unseen_;  // paths; each is said once
  std::optional<base::MonotonicTime> looked_at_kubelet_;
  std::optional<std::uint64_t> looked_at_tasks_;  // TaskSnapshot::change
  std::optional<base::MonotonicTime> looked_beside_pods_;
  std::optional<pid_t> peer_beside_pods_;         // then
  std::optional<base::MonotonicTime> peer_seen_;  // running, last
  bool kubelet_static_ = false;
  bool peer_present_ = false;
  bool holding_ = false;
  policy::Stance stands_;
  std::string eviction_says_, evict_lines_, line_ends_, copilots_say_;
  std::string trouble_;  // why nothing can be written
  ToldOnce told_refused_;
  AgentStatus status_, next_status_;  // as it was shown last; as it stands now
  std::optional<base::MonotonicTime> shown_at_;
};

}  // namespace tidemark::agent
