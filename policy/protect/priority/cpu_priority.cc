#include "policy/protect/priority/cpu_priority.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "policy/protect/limits/task_groups.h"
#include "policy/protect/priority/pod_cpu_qos.h"

namespace tidemark::policy::protect {
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

void ask_of_what_is_left(Priorities& priorities, const PriorityInput& input) {
  bool in_besteffort = false;
  for (const model::Task* task : input.tasks) {
    if (!is_offline_here(task)) continue;
    priorities.ask_of(*task);
    in_besteffort = in_besteffort || below(task->path, input.groups.besteffort);
  }
  if (in_besteffort) priorities.ask_of_besteffort();
}

bool online_lies_below(const PriorityInput& input, std::string_view group) {
  return std::ranges::any_of(input.tasks, [&](const model::Task* task) {
    return !is_offline(*task) && !task->terminal() && below(task->path, group);
  });
}

std::string_view group_above(std::string_view group) {
  const auto slash = group.rfind('/');
  return slash == std::string_view::npos ? group : group.substr(0, slash);
}

// The highest cgroup that contains only offline work, and that may be made idle as one; "": none.
std::string_view group_of_offline(const PriorityInput& input) {
  if (!input.own_groups || input.rung != Knob::kCpuIdle) return {};
  for (const std::string_view group :
       {group_above(input.groups.guaranteed), std::string_view(input.groups.besteffort)}) {
    if (!group.empty() && !online_lies_below(input, group)) return group;
  }
  return {};
}

void set_offline_back(Priorities& priorities, const PriorityInput& input) {
  const std::string_view all = group_of_offline(input);
  bool some_below = false;
  for (const model::Task* task : input.tasks) {
    if (!is_offline_here(task)) continue;
    if (below(task->path, all)) {
      some_below = true;
    } else if (input.rung || !below(task->path, input.groups.besteffort)) {
      priorities.set_back(task->path);
    }
  }
  if (!all.empty() && (some_below || !input.off)) priorities.set_back(std::string(all));
}

}  // namespace

bool offline_runs_last(const PriorityInput& input) {
  return input.rung.has_value() && offline_is_set_back(input) && (mainline(input) || !input.switched_off);
}

bool offline_runs_idle(const PriorityInput& input) {
  return input.rung == Knob::kCpuIdle && offline_is_set_back(input) && group_of_offline(input).empty();
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

}  // namespace tidemark::policy::protect
