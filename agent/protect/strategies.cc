#include "agent/protect/strategies.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "agent/enforcer/occupied.h"
#include "base/text.h"
#include "policy/protect/limits/limits.h"
#include "policy/protect/limits/task_groups.h"
#include "policy/protect/priority/class_weights.h"

namespace tidemark::agent {
namespace {

std::vector<const model::Task*> tasks_of(const TaskSnapshot& snapshot) {
  std::vector<const model::Task*> out;
  out.reserve(snapshot.tasks.size());
  for (const ListedTask& each : snapshot.tasks) out.push_back(each.task.get());
  return out;
}

std::span<const model::WorkClass> classes_of(const policy::protect::NodeRules& rules) {
  return rules.word ? std::span<const model::WorkClass>(rules.word->classes) : std::span<const model::WorkClass>();
}

constexpr std::size_t at(model::Strategy strategy) {
  return static_cast<std::size_t>(strategy);
}

policy::protect::QosGroups qos_groups(const PodGroups& groups) {
  const linux::Kubepods* kubepods = groups.kubepods();
  if (kubepods == nullptr) return {};
  return {kubepods->qos_path(linux::KubeQos::kGuaranteed), kubepods->qos_path(linux::KubeQos::kBurstable),
          kubepods->qos_path(linux::KubeQos::kBestEffort)};
}

constexpr base::Duration kUnlistedLook = std::chrono::seconds(2);

// Whether processes run in the group of all BestEffort pods, beside listed pods that are not offline. The list may be
// incomplete: a copilot may be silent or not started, and a kubelet may know only static pods.
bool runs_in_besteffort(const linux::Hierarchies& hierarchies, const TaskSnapshot& tasks, const PodGroups& groups) {
  if (groups.kubepods() == nullptr) return false;
  std::set<std::string, std::less<>> online;
  for (const ListedTask& each : tasks.tasks) {
    const model::Task& task = *each.task;
    if (task.kind == model::TaskKind::kPod && !policy::protect::is_offline(task) && !task.path.empty())
      online.insert(task.path);
  }
  std::vector<Error> troubles;  // an unreadable group counts as occupied
  return Occupied(hierarchies, online, troubles)(qos_groups(groups).besteffort);
}

}  // namespace

void Strategies::ask_seldom(const StrategyInputs& inputs) {
  steady_.clear();
  limits_ = priorities_ = weights_ = 0;
  const auto tasks = tasks_of(*inputs.tasks);
  const policy::protect::NodeRules& rules = *inputs.rules;

  policy::protect::PriorityInput priority;
  priority.tasks = tasks;
  priority.groups = qos_groups(*inputs.groups);
  priority.lsr = rules.qos.lsr.cpu;
  priority.ls = rules.qos.ls.cpu;
  priority.be = rules.qos.be.cpu;
  priority.cpu_policy = rules.qos.cpu_policy;
  priority.switched_off = machinery_.identity_switched_off;
  priority.rung = policy::protect::priority_knob(machinery_.capabilities);
  priority.off = inputs.permits->off;
  priority.own_groups = machinery_.own_groups;
  auto prioritised = policy::protect::cpu_priority(priority);
  refused_ = std::move(prioritised.refused);

  // A strategy that only observes sets no idle group, share or quota: the others must know that.
  const auto classes = classes_of(rules);
  const auto sharing =
      inputs.observed[at(model::Strategy::kClassWeights)] ? std::span<const model::WorkClass>() : classes;
  const bool prioritises = !inputs.observed[at(model::Strategy::kCpuPriority)];
  const bool idle = prioritises && policy::protect::offline_runs_idle(priority);
  runs_last_ = prioritises && policy::protect::offline_runs_last(priority);
  const bool suppressed =
      (rules.threshold.enable || inputs.permits->off) && !inputs.observed[at(model::Strategy::kCpuSuppress)];
  policy::protect::LimitsInput limits;
  limits.tasks = tasks;
  limits.cpu_alone = inputs.permits->limits_cpu_alone;
  limits.ratio_percent = inputs.facts->normalization_percent;
  limits.oversold_since = inputs.facts->oversold_since;
  limits.quota_suppressed =
      suppressed && rules.threshold.cpu_suppress_policy != policy::protect::SuppressPolicy::kCpuset;
  limits.group_shares = policy::protect::group_shares_of_limits(sharing, idle);
  auto limited = policy::protect::batch_limits(limits);
  auto weighted = policy::protect::class_weights({tasks, classes, idle});
  oom_plan_ = policy::protect::oom_order({tasks, inputs.facts->size.capacity.memory});
  limits_ = limited.size();
  priorities_ = prioritised.intents.size();
  weights_ = weighted.intents.size();
  for (auto* list : {&limited, &prioritised.intents, &weighted.intents}) {
    std::ranges::move(*list, std::back_inserter(steady_));
  }
  say_steady();
}

bool Strategies::seldom_due(const StrategyInputs& inputs) {
  if (inputs.facts == nullptr || inputs.rules == nullptr || inputs.tasks == nullptr || inputs.groups == nullptr) {
    return false;
  }
  const Seen seen{inputs.tasks->change,
                  inputs.facts->normalization_percent,
                  inputs.facts->size.capacity.memory,
                  inputs.facts->oversold_since,
                  inputs.groups->kubepods() != nullptr,
                  inputs.permits->off,
                  inputs.permits->limits_cpu_alone,
                  inputs.observed};
  if (seen_ == seen && rules_ == *inputs.rules) return false;
  seen_ = seen;
  rules_ = *inputs.rules;
  return true;
}

bool Strategies::is_over(const StrategyInputs& inputs, base::MonotonicTime now) {
  const bool listed = std::ranges::any_of(inputs.tasks->tasks, [](const ListedTask& each) {
    return each.task->kind != model::TaskKind::kHostApplication && policy::protect::is_offline(*each.task) &&
           !each.task->terminal();
  });
  if (!inputs.permits->off || !inputs.known || listed) {
    unlisted_.reset();
    return false;
  }
  if (!unlisted_ || now - unlisted_->looked >= kUnlistedLook) {
    unlisted_ = {now, runs_in_besteffort(hierarchies_, *inputs.tasks, *inputs.groups)};
  }
  return !unlisted_->runs;
}

bool Strategies::ask_suppress(const StrategyInputs& inputs, base::MonotonicTime now) {
  if (inputs.measured == nullptr || inputs.tasks == nullptr || inputs.groups == nullptr) return false;
  // Off needs no settings.
  if (inputs.rules == nullptr && !inputs.permits->off) return false;
  if (is_over(inputs, now)) {
    suppress_state_ = {};
    suppress_plan_ = {};
  } else {
    const bool limits = !inputs.observed[at(model::Strategy::kBatchLimits)];
    const auto refuses_since = limits && inputs.facts != nullptr ? inputs.facts->oversold_since : std::nullopt;
    const auto& seen = observer_.observe(
        {inputs.facts, *inputs.measured, *inputs.tasks, *inputs.groups, machinery_.capabilities, inputs.kubelet_static,
         inputs.permits->off, runs_last_ && !inputs.lacks_priority, refuses_since},
        now);
    auto step = policy::protect::suppress(
        suppress_state_, seen, inputs.rules != nullptr ? *inputs.rules : unsaid_, now,
        {std::move(suppress_before_), std::move(suppress_plan_), std::move(processors_), std::move(shares_)});
    suppress_before_ = std::exchange(suppress_state_, std::move(step.state));
    suppress_plan_ = std::move(step.plan);
    processors_ = std::move(step.processors);
    shares_ = std::move(step.shares);
  }
  if (suppress_plan_.intents == suppressing_) return false;
  suppressing_ = suppress_plan_.intents;
  return true;
}

std::span<const policy::protect::KnobWrite> Strategies::ask(const StrategyInputs& inputs, base::MonotonicTime now) {
  bool changed = std::exchange(observed_, inputs.observed) != inputs.observed;
  if (inputs.known && seldom_due(inputs)) {
    ask_seldom(inputs);
    changed = true;
  }
  if (ask_suppress(inputs, now)) changed = true;
  say_suppress();
  if (changed) compile();
  return writes_;
}

// A strategy that only observes outranks nothing that is written.
void Strategies::compile() {
  std::vector<policy::protect::Intent> written, shown;
  for (const auto* list : {&steady_, &suppressing_}) {
    for (const policy::protect::Intent& each : *list) (observed_[at(each.strategy)] ? shown : written).push_back(each);
  }
  auto compiled = policy::protect::compile(written, machinery_.capabilities);
  auto compiled_shown = policy::protect::compile(shown, machinery_.capabilities);
  writes_ = std::move(compiled.writes);
  only_shown_ = std::move(compiled_shown.writes);
  unmet_ = 0;
  for (const auto& list : {compiled.unmet, compiled_shown.unmet}) {
    unmet_ += static_cast<std::size_t>(std::ranges::count_if(
        list, [](const policy::protect::Unmet& each) { return each.reason != model::Reason::kKnobOutranked; }));
  }
}

const std::string& Strategies::says(model::Strategy strategy) const {
  return says_[at(strategy)];
}

// For all except suppression, whenever they are asked.
void Strategies::say_steady() {
  const auto count = [&](model::Strategy strategy, std::size_t many, std::string_view what) {
    says_[at(strategy)] = many == 0 ? "" : base::cat(many, " ", what);
  };
  count(model::Strategy::kBatchLimits, limits_, "values");
  count(model::Strategy::kCpuPriority, priorities_, "groups");
  count(model::Strategy::kClassWeights, weights_, "values");
  count(model::Strategy::kOomOrder, oom_plan_.intents.size(), "groups");
}

// Called each second, mostly without changes.
void Strategies::say_suppress() {
  const bool quota = suppress_plan_.policy == policy::protect::SuppressPolicy::kCfsQuota;
  const SaidSuppress now{suppress_plan_.reason, suppress_plan_.policy,
                         quota ? suppress_plan_.quota_us : std::ssize(suppress_plan_.cpus), suppress_plan_.each};
  if (now == said_suppress_) return;
  said_suppress_ = now;
  std::string& out = says_[at(model::Strategy::kCpuSuppress)];
  out = model::reason_id(now.reason);
  if (quota) {
    out += base::cat(": ", now.amount, " us of 100 ms", now.each ? " each" : "");
  } else if (now.policy == policy::protect::SuppressPolicy::kCpuset) {
    out += base::cat(": ", now.amount, " processors");
  }
}

}  // namespace tidemark::agent
