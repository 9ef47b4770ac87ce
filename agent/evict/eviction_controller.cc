#include "agent/evict/eviction_controller.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"
#include "policy/evict/budget/budget.h"
#include "policy/explain/evict_text.h"

namespace tidemark::agent {
namespace {

using model::Reason;
using policy::evict::EvictOutcome;
using policy::evict::EvictStage;

// How often a plan that is only observed is logged again.
constexpr base::Duration kTellAgain = std::chrono::minutes(10);
constexpr std::size_t kToldMax = 1024;
// Within policy::kUnreachableFor.
constexpr base::Duration kAskAgain = std::chrono::seconds(1);
constexpr int kAskAgainMax = 3;
// Pause if the server answers but is busy: this long, and up to the spread longer.
constexpr base::Duration kBusyPause = std::chrono::seconds(2);
constexpr std::size_t kBusySpread_ms = 4000;
// An eviction counts as repeated if another task of the job was evicted this recently.
constexpr base::Duration kAgainWithin = std::chrono::hours(1);
constexpr std::size_t kEvictedJobsMax = 1024;

// A grant applies until its end; without one, the limit of the settings.
std::int64_t evictions_an_hour(const policy::protect::NodeRules& rules, std::int64_t otherwise, base::WallTime wall) {
  if (rules.grant && wall < rules.grant->now.until) return rules.grant->now.per_hour;
  return rules.evict_settings().per_hour.value_or(otherwise);
}

policy::evict::EvictSwitches all_features() {
  policy::evict::EvictSwitches out;
  for (std::size_t i = 0; i < policy::evict::kEvictFeatures; ++i) out.set(static_cast<policy::evict::EvictFeature>(i));
  return out;
}

// Orders of our manager apply even to an agent that uses feature gates.
policy::evict::EvictSwitches switched_on(const policy::protect::NodeRules& rules,
                                         policy::evict::EvictSwitches without_word) {
  if (rules.word) return all_features();
  without_word.set(policy::evict::EvictFeature::kReclaim);
  return without_word;
}

Reason reason_of(EvictOutcome outcome) {
  switch (outcome) {
    case EvictOutcome::kAccepted:
      return Reason::kEvictAsked;
    case EvictOutcome::kForbidden:
    case EvictOutcome::kNever:
      return Reason::kEvictForbidden;
    case EvictOutcome::kUnreachable:
    case EvictOutcome::kBusy:
      return Reason::kEvictUnreachable;
    case EvictOutcome::kGone:
      return Reason::kEvictGone;
    case EvictOutcome::kPreempted:
      return Reason::kEvictPreempted;
    case EvictOutcome::kReplaced:
      return Reason::kEvictReplaced;
    case EvictOutcome::kSent:
      break;  // no answer
  }
  return Reason::kEvictUnreachable;
}

// Differs for each task and attempt, so that tasks that were refused together do not retry together.
base::Duration busy_pause(std::string_view key, int times) {
  const std::size_t hash = std::hash<std::string>{}(base::cat(key, " ", times));
  return kBusyPause + std::chrono::milliseconds(hash % kBusySpread_ms);
}

}  // namespace

EvictionDefaults eviction_defaults(policy::evict::EvictSwitches gates, bool alone) {
  if (alone) return {all_features(), policy::evict::kEvictionsPerHourAlone};
  return {gates, model::kEvictionsPerHourMax};
}

EvictionController::EvictionController(net::EventLoop& loop, EvictionOutside outside, const base::Log& log,
                                       base::Registry& metrics, EvictionDefaults defaults)
    : loop_(loop),
      outside_(outside),
      log_(log),
      metrics_(metrics),
      leaving_(metrics.gauge("tidemark_agent_tasks_leaving",
                             "Tasks that were asked to end and still run, or may not be evicted now.")),
      defaults_(defaults),
      state_(outside.memory != nullptr ? outside.memory->begin(loop.clock().monotonic())
                                       : policy::evict::first_evict_state(loop.clock().monotonic())),
      scope_(loop) {}

void EvictionController::observe(const EvictionInputs& inputs) {
  // Before tasks and settings are known, nothing is evicted.
  if (inputs.permit == policy::state::Permit::kKeep) return;
  const base::MonotonicTime now = loop_.clock().monotonic();
  const base::WallTime wall = loop_.clock().wall();
  observer_.observe(inputs.seen, now);
  if (inputs.rules.word && classes_ != inputs.rules.word->classes) classes_ = inputs.rules.word->classes;
  const bool may_act = may_act_ = inputs.permit == policy::state::Permit::kEnforce;
  know_again(inputs);
  auto step =
      policy::evict::evict(state_,
                           {observer_.node(), observer_.tasks(), answers_,
                            evictions_an_hour(inputs.rules, defaults_.per_hour, wall), may_act, inputs.yarn_preempts},
                           inputs.rules, switched_on(inputs.rules, defaults_.features), now, wall);
  answers_.clear();
  state_ = std::move(step.state);
  // Before any request: an agent that is killed in between has counted one eviction too many, not one too few.
  if (outside_.memory != nullptr) outside_.memory->keep(state_);
  for (const policy::evict::Leaving& each : step.plan.ended) ended(each, now);
  for (const policy::evict::EvictOrder& each : step.plan.orders) {
    if (may_act) {
      order(each, inputs);
    } else {
      only_tell(each, *observer_.tasks()[each.task].task);
    }
  }
  forget_others();
  show(step.plan);
}

// Recalls tasks that an earlier agent asked: their current use stands for their use then.
void EvictionController::know_again(const EvictionInputs& inputs) {
  for (const policy::evict::Leaving& one : state_.leaving) {
    if (one.stage == EvictStage::kSpared || going_.contains(one.task)) continue;
    const auto& all = inputs.tasks->tasks;
    const auto listed = std::ranges::find_if(
        all, [&](const ListedTask& each) { return policy::evict::evict_key(*each.task) == one.task; });
    if (listed == all.end()) continue;
    const policy::evict::TaskSeen& seen = observer_.tasks()[static_cast<std::size_t>(listed - all.begin())];
    const base::WallTime asked = loop_.clock().wall() + -(loop_.clock().monotonic() - one.asked);
    going_[one.task] = {listed->task, {.feature = one.feature, .reason = one.reason},
                        asked,        seen.cpu,
                        seen.memory,  one.lost_core_seconds,
                        false,        one.killed};
    const bool counted = one.stage == EvictStage::kLeaving || one.stage == EvictStage::kKilled;
    if (outside_.ends != nullptr) outside_.ends->asked(*listed->task, counted);
  }
}

// Forgets tasks that the policy no longer tracks: they stayed, and their end was not seen.
void EvictionController::forget_others() {
  if (going_.size() <= state_.leaving.size()) return;
  std::erase_if(going_, [&](const auto& each) {
    return !std::ranges::binary_search(state_.leaving, each.first, {}, &policy::evict::Leaving::task);
  });
}

void EvictionController::order(const policy::evict::EvictOrder& order, const EvictionInputs& inputs) {
  const TaskPointer task = inputs.tasks->tasks[order.task].task;
  const policy::evict::TaskSeen& seen = observer_.tasks()[order.task];
  const std::string key = policy::evict::evict_key(*task);
  if (order.verb == policy::evict::EvictVerb::kKill) {
    // A group that does not die must not delay others.
    if (!killing_.insert(key).second) return;
    const auto going = going_.find(key);
    // For a task that an earlier agent asked, only the reason is known, not the values seen then.
    const bool known = going != going_.end() && going->second.gap.amount > 0;
    scope_.spawn(kill(task,
                      known ? policy::explain::evict_why(going->second.gap)
                            : base::cat(model::reason_id(order.reason), ": ", model::reason_sentence(order.reason)),
                      order.by));
    return;
  }
  if (order.beyond_grant) {
    log_.warn("exceeds the eviction grant: the kubelet is about to evict in its own order",
              {{"namespace", task->ns}, {"name", task->name}, {"why", policy::explain::evict_why(order.gap)}});
  }
  going_[key] = {task, order.gap, loop_.clock().wall(), seen.cpu, seen.memory, order.lost_core_seconds};
  if (outside_.ends != nullptr) outside_.ends->asked(*task);
  scope_.spawn(ask(task, order.gap, order.grace, order.itself));
}

void EvictionController::only_tell(const policy::evict::EvictOrder& order, const model::Task& task) {
  if (order.verb != policy::evict::EvictVerb::kAsk) return;
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::erase_if(told_, [&](const auto& each) { return now - each.second >= kTellAgain; });
  if (told_.size() >= kToldMax || !told_.emplace(policy::evict::evict_key(task), now).second) return;
  log_.info("would be evicted if evictions were enforced", {{"namespace", task.ns},
                                                            {"name", task.name},
                                                            {"why", policy::explain::evict_why(order.gap)},
                                                            {"reason", model::reason_id(Reason::kAgentObserves)}});
}

net::Task<void> EvictionController::ask(TaskPointer task, policy::evict::Gap gap, base::Duration grace, bool itself) {
  const std::string why = policy::explain::evict_why(gap);
  answers_.push_back({policy::evict::evict_key(*task), EvictOutcome::kSent});
  const EvictOutcome outcome = co_await ask_until_answered(task, gap.reason, grace, itself);
  answers_.push_back({policy::evict::evict_key(*task), outcome});
  sum_up(*task, outcome);
  const Reason reason = reason_of(outcome);
  const bool accepted = outcome == EvictOutcome::kAccepted || outcome == EvictOutcome::kPreempted;
  if (const auto going = going_.find(policy::evict::evict_key(*task)); going != going_.end()) {
    going->second.preempted = outcome == EvictOutcome::kPreempted;
  }
  const std::initializer_list<base::LogField> told = {{"namespace", task->ns},
                                                      {"name", task->name},
                                                      {"class", task->identity.work_class},
                                                      {"why", why},
                                                      {"feature", to_string(gap.feature)},
                                                      {"reason", model::reason_id(reason)}};
  if (accepted) {
    log_.info("evicted", told);
  } else {
    log_.warn("cannot evict", told);
  }
  if (outcome != EvictOutcome::kGone) tell_event(*task, gap, accepted, model::reason_sentence(reason));
  metrics_
      .counter(
          "tidemark_agent_evictions_total", "Tasks that were asked to end, by outcome.",
          {{"class", class_label(*task)}, {"component", to_string(gap.feature)}, {"reason", model::reason_id(reason)}})
      .add();
}

// A restarting API server answers a moment later; a retry is safe because the request carries the pod's uid. The policy
// decides how long to wait for a busy one.
net::Task<EvictOutcome> EvictionController::ask_until_answered(TaskPointer task, Reason why, base::Duration grace,
                                                               bool itself) {
  const std::string key = policy::evict::evict_key(*task);
  int unreachable = 0;
  for (int times = 0;; ++times) {
    const EvictOutcome outcome = co_await outside_.hands.ask(*task, why, grace, itself);
    if (outcome == EvictOutcome::kBusy) {
      answers_.push_back({key, outcome});
      co_await loop_.sleep(busy_pause(key, times));
      if (!is_still_asked(key)) co_return outcome;
    } else if (outcome == EvictOutcome::kUnreachable && unreachable++ < kAskAgainMax) {
      co_await loop_.sleep(kAskAgain);
    } else {
      co_return outcome;
    }
  }
}

bool EvictionController::is_still_asked(std::string_view key) const {
  const auto at = std::ranges::lower_bound(state_.leaving, key, {}, &policy::evict::Leaving::task);
  return may_act_ && at != state_.leaving.end() && at->task == key && at->stage == EvictStage::kAsked;
}

void EvictionController::sum_up(const model::Task& task, EvictOutcome outcome) {
  if (outside_.ends == nullptr) return;
  if (outcome == EvictOutcome::kAccepted || outcome == EvictOutcome::kPreempted) outside_.ends->evicted(task);
  if (outcome == EvictOutcome::kReplaced) outside_.ends->replaced(task);
  const bool stays = outcome == EvictOutcome::kUnreachable || outcome == EvictOutcome::kBusy;
  if (stays || outcome == EvictOutcome::kForbidden) outside_.ends->stays(task);
}

net::Task<void> EvictionController::kill(TaskPointer task, std::string why, Reason by) {
  const auto killed = co_await outside_.hands.kill(*task, by);
  killing_.erase(policy::evict::evict_key(*task));
  const bool dead = killed && killed->left == 0;
  const bool was_empty = dead && killed->killed == 0;
  if (const auto going = going_.find(policy::evict::evict_key(*task)); going != going_.end()) {
    going->second.killed |= !was_empty;
    // The provider has not noticed its end yet.
    if (was_empty && !std::exchange(going->second.was_empty, true)) {
      log_.info("the cgroup to kill was empty", {{"namespace", task->ns}, {"name", task->name}, {"group", task->path}});
    }
  }
  if (was_empty) co_return;
  if (dead) sum_up(*task, EvictOutcome::kAccepted);
  if (dead) {
    log_.warn("killed", {{"namespace", task->ns},
                         {"name", task->name},
                         {"why", why},
                         {"group", task->path},
                         {"reason", model::reason_id(by)}});
  } else {
    log_.error(model::reason_sentence(Reason::kEvictNotKilled),
               {{"namespace", task->ns},
                {"name", task->name},
                {"group", task->path},
                {"error", killed ? base::cat(killed->left, " processes are there still") : killed.error().message},
                {"reason", model::reason_id(Reason::kEvictNotKilled)}});
  }
  metrics_
      .counter("tidemark_agent_kills_total", "Tasks whose cgroup was killed because they did not end when asked.",
               {{"class", class_label(*task)}, {"reason", model::reason_id(dead ? by : Reason::kEvictNotKilled)}})
      .add();
}

void EvictionController::ended(const policy::evict::Leaving& leaving, base::MonotonicTime now) {
  const auto found = going_.find(leaving.task);
  if (found == going_.end()) return;
  const Going going = std::move(found->second);
  going_.erase(found);
  // No request reached it: it stays, or ended by itself.
  const bool stayed = leaving.stage == EvictStage::kForbidden || leaving.stage == EvictStage::kSpared;
  if (stayed && !leaving.killed) return;
  log_.info("ended after the request",
            {{"namespace", going.task->ns},
             {"name", going.task->name},
             {"seconds", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now - leaving.asked).count())},
             {"reason", model::reason_id(Reason::kEvictGone)}});
  const model::Task& task = *going.task;
  if (evicted_again(task, now)) {
    metrics_
        .counter("tidemark_agent_evicted_again_total",
                 "Evictions of jobs of which another task was evicted on this node within the hour before.",
                 {{"class", class_label(task)}})
        .add();
  }
  if (outside_.losses == nullptr) return;
  const auto begun = task.started ? task.started : task.created;
  outside_.losses->add({.time = loop_.clock().wall(),
                        .task = task.identity,
                        .ns = task.ns,
                        .name = task.name,
                        .feature = std::string(to_string(going.gap.feature)),
                        .reason = std::string(model::reason_id(going.gap.reason)),
                        .ended = std::string(model::reason_id(going.preempted ? Reason::kEvictPreempted
                                                              : going.killed  ? Reason::kEvictKilled
                                                                              : Reason::kEvictAsked)),
                        .age = begun ? std::max(going.asked - *begun, base::Duration(0)) : base::Duration(0),
                        .cpu = going.cpu,
                        .memory = going.memory,
                        .lost_core_seconds = going.lost_core_seconds,
                        .ending = now - leaving.asked});
}

bool EvictionController::evicted_again(const model::Task& task, base::MonotonicTime now) {
  if (task.identity.job.empty()) return false;
  std::erase_if(evicted_jobs_, [&](const auto& each) { return now - each.second >= kAgainWithin; });
  const std::string job = base::cat(task.identity.source, "/", task.ns, "/", task.identity.job);
  const auto before = evicted_jobs_.find(job);
  if (before == evicted_jobs_.end() && evicted_jobs_.size() >= kEvictedJobsMax) return false;
  const bool again = before != evicted_jobs_.end();
  evicted_jobs_[job] = now;
  return again;
}

void EvictionController::tell_event(const model::Task& task, const policy::evict::Gap& gap, bool accepted,
                                    std::string_view more) {
  if (outside_.events == nullptr || task.kind != model::TaskKind::kPod) return;
  std::string message = policy::explain::evict_event(gap);
  if (!accepted) message += base::cat("; ", more);
  outside_.events->record({"v1", "Pod", task.ns, task.name, task.identity.task}, kube::EventSeverity::kWarning,
                          accepted ? "evictPodSuccess" : "evictPodFail", message);
}

// A pod's label may be any text: only classes in the settings become a metric label.
std::string EvictionController::class_label(const model::Task& task) const {
  const std::string& name = task.identity.work_class;
  if (name.empty()) return "";
  return std::ranges::find(classes_, name, &model::WorkClass::name) == classes_.end() ? "other" : name;
}

void EvictionController::show(const policy::evict::EvictPlan& plan) {
  says_ = policy::explain::evict_says(plan.verdicts, state_.leaving.size(), std::move(says_));
  leaving_.set(static_cast<double>(state_.leaving.size()));
}

}  // namespace tidemark::agent
