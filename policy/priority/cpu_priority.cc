#include "policy/priority/cpu_priority.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policy/limits/task_groups.h"
#include "policy/priority/pod_cpu_qos.h"

namespace tidemark::policy {
namespace {

using model::KubeQos;
using model::Qos;
using model::Reason;

struct Decided {
  CpuPriority priority = CpuPriority::kPlain;
  Reason reason = Reason::kPriorityOff;
};

bool mainline(const PriorityInput& input) {
  return input.rung != Knob::kCpuBvt && input.rung != Knob::kCpuQosLevel;
}

bool by_identity(const PriorityInput& input) {
  return input.cpu_policy == CpuQosPolicy::kGroupIdentity;
}

bool offline_is_set_back(const PriorityInput& input) {
  return input.be.enable && (input.be.sched_idle == 1 || (by_identity(input) && input.be.group_identity < 0));
}

bool below(std::string_view group, std::string_view above) {
  return !above.empty() && group.size() > above.size() && group.starts_with(above) && group[above.size()] == '/';
}

class Priorities {
 public:
  explicit Priorities(const PriorityInput& input) : input_(input) {}

  bool enabled(const CpuQos& qos) const { return qos.enable && by_identity(input_); }
  bool any_enabled() const { return enabled(input_.lsr) || enabled(input_.ls) || enabled(input_.be); }

  void ask_of_directories() {
    want(input_.groups.guaranteed,
         {CpuPriority::kPlain, any_enabled() ? Reason::kPriorityByClass : Reason::kPriorityOff});
    want(input_.groups.burstable, of(input_.ls));
    ask_of_besteffort();
  }

  void ask_of(const model::Task& task) {
    Decided decided = of_task(task);
    const std::string* own = task.setting(model::TaskSetting::kCpuQos);
    if (own != nullptr && task.qos_raw == Qos::kLs && any_enabled()) {
      const auto read = parse_pod_cpu_qos(*own);
      if (!read) {
        plan_.refused.push_back({task.path, read.error().message});
        return;
      }
      decided = {*read, Reason::kPriorityByClass};
    }
    want(task.path, decided);
    for (const model::TaskContainer& each : task.containers) want(each.path, decided);
  }

  void ask_of_besteffort() { want(input_.groups.besteffort, of(input_.be)); }

  void set_back(const std::string& group) { want(group, {CpuPriority::kOffline, Reason::kPriorityByClass}); }

  PriorityPlan all() && {
    sort_by_group(plan_.intents);
    std::ranges::sort(plan_.refused, {}, &PriorityPlan::Refused::group);
    return std::move(plan_);
  }

 private:
  Decided of(const CpuQos& qos) const {
    if (!enabled(qos)) return {};
    constexpr auto kLeast = static_cast<std::int64_t>(CpuPriority::kOffline);
    constexpr auto kMost = static_cast<std::int64_t>(CpuPriority::kOnline);
    return {static_cast<CpuPriority>(std::clamp(qos.group_identity, kLeast, kMost)), Reason::kPriorityByClass};
  }

  Decided of_task(const model::Task& task) const {
    switch (task.qos_raw) {
      case Qos::kLse:
      case Qos::kLsr:
        return of(input_.lsr);
      case Qos::kLs:
        return of(input_.ls);
      case Qos::kBe:
        return of(input_.be);
      case Qos::kNone:
      case Qos::kSystem:
        break;
    }
    switch (task.kube_qos) {
      case KubeQos::kGuaranteed:
        return enabled(input_.lsr) ? of(input_.lsr) : of(input_.ls);
      case KubeQos::kBurstable:
        return of(input_.ls);
      case KubeQos::kBestEffort:
        return of(input_.be);
    }
    return {};
  }

  void want(const std::string& group, Decided decided) {
    if (group.empty()) return;
    plan_.intents.push_back({group,
                             Want::kCpuPriority,
                             static_cast<std::int64_t>(decided.priority),
                             {},
                             model::Strategy::kCpuPriority,
                             decided.reason});
  }

  const PriorityInput& input_;
  PriorityPlan plan_;
};

bool is_offline_here(const model::Task* task) {
  return may_be_written(*task) && is_offline(*task);
}

bool offline_lies_in_besteffort(const PriorityInput& input) {
  return std::ranges::any_of(input.tasks, [&](const model::Task* task) {
    return is_offline_here(task) && below(task->path, input.groups.besteffort);
  });
}

void ask_of_what_is_left(Priorities& priorities, const PriorityInput& input) {
  for (const model::Task* task : input.tasks) {
    if (is_offline_here(task)) priorities.ask_of(*task);
  }
  if (offline_lies_in_besteffort(input)) priorities.ask_of_besteffort();
}

bool besteffort_is_idle(const PriorityInput& input) {
  return input.own_groups && input.rung == Knob::kCpuIdle && !input.groups.besteffort.empty() &&
         std::ranges::none_of(input.tasks, [&](const model::Task* task) {
           return !is_offline(*task) && !task->terminal() && below(task->path, input.groups.besteffort);
         });
}

void set_offline_back(Priorities& priorities, const PriorityInput& input) {
  const bool as_one = besteffort_is_idle(input);
  for (const model::Task* task : input.tasks) {
    if (!is_offline_here(task)) continue;
    const bool lies_lower_already = as_one || !input.rung;
    if (lies_lower_already && below(task->path, input.groups.besteffort)) continue;
    priorities.set_back(task->path);
  }
  if (as_one && (!input.off || offline_lies_in_besteffort(input))) priorities.set_back(input.groups.besteffort);
}

}  // namespace

bool offline_runs_idle(const PriorityInput& input) {
  return input.rung == Knob::kCpuIdle && offline_is_set_back(input) && !besteffort_is_idle(input);
}

PriorityPlan cpu_priority(const PriorityInput& input) {
  Priorities priorities(input);
  if (mainline(input)) {
    if (!offline_is_set_back(input)) return {};
    set_offline_back(priorities, input);
    return std::move(priorities).all();
  }
  if (!priorities.any_enabled() && input.switched_off) return {};
  if (input.off) {
    ask_of_what_is_left(priorities, input);
    return std::move(priorities).all();
  }
  priorities.ask_of_directories();
  for (const model::Task* task : input.tasks) {
    if (may_be_written(*task)) priorities.ask_of(*task);
  }
  return std::move(priorities).all();
}

}  // namespace tidemark::policy
