// Evicts offline work if limiting it is not enough: decides each second (policy/evict), carries it out, and reports the
// result as events, logs, metrics and in the loss ledger.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/evict/evict_memory.h"
#include "agent/evict/eviction_observer.h"
#include "agent/evict/hands.h"
#include "agent/evict/loss_ledger.h"
#include "agent/evict/task_ends.h"
#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "kube/recorder.h"
#include "net/loop.h"
#include "policy/evict/evict.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

// External parts, which outlive it.
struct EvictionOutside {
  EvictionHands& hands;
  kube::EventRecorder* events = nullptr;  // null: no events
  LossLedger* losses = nullptr;           // null: not kept
  EvictMemory* memory = nullptr;          // null: the next agent starts without it
  TaskEnds* ends = nullptr;               // null: not counted
};

struct EvictionInputs {
  EvictionObserver::Inputs seen;
  const std::shared_ptr<const TaskSnapshot>& tasks;
  const policy::protect::NodeRules& rules;
  policy::state::Permit permit = policy::state::Permit::kKeep;
  bool yarn_preempts = false;  // policy::VictimRules
};

// The settings of eviction if no manager of ours configures it.
struct EvictionDefaults {
  policy::evict::EvictSwitches features;
  std::int64_t per_hour = 0;
};
// `gates`: Koordinator's. On a single machine (`tidemark up`), a set threshold is enforced: its manager is ours, even
// if only Koordinator's settings exist.
EvictionDefaults eviction_defaults(policy::evict::EvictSwitches gates, bool alone);

class EvictionController {
 public:
  EvictionController(net::EventLoop& loop, EvictionOutside outside, const base::Log& log, base::Registry& metrics,
                     EvictionDefaults defaults);
  EvictionController(const EvictionController&) = delete;
  EvictionController& operator=(const EvictionController&) = delete;

  // Call after each pass of the sampler, once tasks and settings are known.
  void observe(const EvictionInputs& inputs);

  const std::string& says() const { return says_; }  // its status, in a few words
  std::size_t leaving() const { return state_.leaving.size(); }

 private:
  struct Going {
    TaskPointer task;
    policy::evict::Gap gap;
    base::WallTime asked;
    std::optional<model::CpuMilli> cpu;
    std::optional<model::MemoryBytes> memory;
    std::int64_t lost_core_seconds = 0;
    bool preempted = false;  // by its scheduler
    bool killed = false;     // its group had processes when it was killed
    bool was_empty = false;  // its group was empty
  };
  void order(const policy::evict::EvictOrder& order, const EvictionInputs& inputs);
  void only_tell(const policy::evict::EvictOrder& order, const model::Task& task);
  net::Task<void> ask(TaskPointer task, policy::evict::Gap gap, base::Duration grace, bool itself);
  net::Task<policy::evict::EvictOutcome> ask_until_answered(TaskPointer task, model::Reason why, base::Duration grace,
                                                            bool itself);
  bool is_still_asked(std::string_view key) const;
  net::Task<void> kill(TaskPointer task, std::string why, model::Reason by);
  void sum_up(const model::Task& task, policy::evict::EvictOutcome outcome);
  void know_again(const EvictionInputs& inputs);
  void forget_others();
  void ended(const policy::evict::Leaving& leaving, base::MonotonicTime now);
  bool evicted_again(const model::Task& task, base::MonotonicTime now);
  void tell_event(const model::Task& task, const policy::evict::Gap& gap, bool accepted, std::string_view more);
  std::string class_label(const model::Task& task) const;
  void show(const policy::evict::EvictPlan& plan);

  net::EventLoop& loop_;
  EvictionOutside outside_;
  base::Log log_;
  base::Registry& metrics_;
  base::Gauge& leaving_;
  EvictionDefaults defaults_;
  EvictionObserver observer_;
  bool may_act_ = false;
  policy::evict::EvictState state_;
  std::vector<policy::evict::EvictAnswer> answers_;
  std::vector<model::WorkClass> classes_;                         // named in the settings, for metric labels
  std::set<std::string, std::less<>> killing_;                    // kills in progress
  std::map<std::string, Going, std::less<>> going_;               // by policy::evict_key
  std::map<std::string, base::MonotonicTime, std::less<>> told_;  // tasks whose planned eviction was logged lately
  std::map<std::string, base::MonotonicTime, std::less<>> evicted_jobs_;  // when a task of it was last evicted
  std::string says_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
