// Asks each strategy for the values of the groups of this node, and translates them for this kernel. Strategies whose
// input seldom changes are seldom asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/protect/node_facts.h"
#include "agent/protect/suppress_observer.h"
#include "agent/sampler/measured.h"
#include "agent/tasks/pod_groups.h"
#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "linux/topology.h"
#include "policy/protect/knobs.h"
#include "policy/protect/node_rules.h"
#include "policy/protect/priority/cpu_priority.h"
#include "policy/protect/priority/oom_order.h"
#include "policy/protect/suppress/suppress.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

// The machine, as detected at the start.
struct Machinery {
  policy::protect::Capabilities capabilities;
  linux::Topology topology;
  bool identity_switched_off = false;  // kernel.sched_group_identity_enabled exists and is 0
  bool own_groups = false;             // of pods: no kubelet writes them
};

struct StrategyInputs {
  const NodeFacts* facts = nullptr;                   // null: the Node is not known yet
  const policy::protect::NodeRules* rules = nullptr;  // null: the NodeSLO is not known yet
  const Measured* measured = nullptr;
  const TaskSnapshot* tasks = nullptr;
  const PodGroups* groups = nullptr;
  bool kubelet_static = false;                           // its CPU manager
  bool known = false;                                    // every provider has answered
  bool lacks_priority = false;                           // not all values of CPU priority are in the kernel
  const policy::state::AgentPermits* permits = nullptr;  // not null
  policy::state::ByStrategy<bool> observed{};            // decided and shown, but not written
};

class Strategies {
 public:
  Strategies(const linux::Hierarchies& hierarchies, Machinery machinery)
      : hierarchies_(hierarchies), machinery_(std::move(machinery)), observer_(hierarchies, machinery_.topology) {}

  // All writes, at most one for each file of a group. Valid until the next call.
  std::span<const policy::protect::KnobWrite> ask(const StrategyInputs& inputs, base::MonotonicTime now);

  // The last answer of ask(), and the writes of strategies that only observe. Both are sorted by cgroup.
  std::span<const policy::protect::KnobWrite> writes() const { return writes_; }
  std::span<const policy::protect::KnobWrite> only_shown() const { return only_shown_; }

  const policy::protect::Capabilities& capabilities() const { return machinery_.capabilities; }
  // The kill order when the machine is out of memory: of processes, not of files.
  const policy::protect::OomPlan& oom_plan() const { return oom_plan_; }
  // The reaction tightened offline work between two decisions (agent/reaction): growth begins after a pause, as after a
  // step.
  void narrowed(base::MonotonicTime now) { suppress_state_.grew = now; }
  const policy::protect::SuppressPlan& suppress_plan() const { return suppress_plan_; }
  const std::vector<policy::protect::PriorityPlan::Refused>& refused() const {
    return refused_;
  }  // pods, because of their annotation
  std::size_t unmet() const { return unmet_; }  // wanted values that no file of this kernel can hold
  const policy::protect::SuppressObservation& suppress_seen() const { return observer_.seen(); }
  const std::string& says(model::Strategy strategy) const;  // its last decision, in a few words

 private:
  struct Seen {
    std::uint64_t tasks = 0;
    std::int64_t normalization_percent = 0;
    model::MemoryBytes machine;
    std::optional<base::WallTime> oversold_since;
    bool kubepods = false;
    bool off = false;
    bool limits_cpu_alone = false;
    policy::state::ByStrategy<bool> observed{};
    bool operator==(const Seen&) const = default;
  };
  bool seldom_due(const StrategyInputs& inputs);
  void ask_seldom(const StrategyInputs& inputs);
  bool ask_suppress(const StrategyInputs& inputs, base::MonotonicTime now);
  void compile();
  void say_steady();
  void say_suppress();

  // Off, and no offline work runs here any more: no limit needs to stay.
  bool is_over(const StrategyInputs& inputs, base::MonotonicTime now);

  const linux::Hierarchies& hierarchies_;
  Machinery machinery_;
  SuppressObserver observer_;
  std::optional<Seen> seen_;
  policy::protect::NodeRules rules_;
  const policy::protect::NodeRules unsaid_;      // the rules without settings
  std::vector<policy::protect::Intent> steady_;  // of all except suppression
  std::size_t limits_ = 0, priorities_ = 0, weights_ = 0, unmet_ = 0;
  bool runs_last_ = false;  // offline work, at the last call
  std::vector<policy::protect::PriorityPlan::Refused> refused_;
  policy::protect::OomPlan oom_plan_;
  policy::protect::SuppressState suppress_state_;
  policy::protect::SuppressPlan suppress_plan_;
  policy::protect::SuppressState suppress_before_;  // the previous state; reuses its memory
  policy::protect::ProcessorMemory processors_;
  policy::protect::ShareMemory shares_;
  std::vector<policy::protect::Intent> suppressing_;
  policy::state::ByStrategy<std::string> says_;
  struct SaidSuppress {
    model::Reason reason = model::Reason::kSuppressOff;
    std::optional<policy::protect::SuppressPolicy> policy;
    std::int64_t amount = 0;
    bool each = false;
    bool operator==(const SaidSuppress&) const = default;
  };
  std::optional<SaidSuppress> said_suppress_;
  policy::state::ByStrategy<bool> observed_{};
  struct Unlisted {
    base::MonotonicTime looked;
    bool runs = false;  // processes run in the group of all BestEffort pods
  };
  std::optional<Unlisted> unlisted_;  // while no offline work is listed and the node is off
  std::vector<policy::protect::KnobWrite> writes_, only_shown_;
};

}  // namespace tidemark::agent
