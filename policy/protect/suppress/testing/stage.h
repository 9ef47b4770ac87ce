// A node for suppression, set up line by line, whose besteffort group does what the last plan wanted:
//
//   node CORES [numa N] [threads N]     Linux' numbering: the second threads of all cores follow the first ones
//   rules off|cpuset|cfsQuota [line P] [least P]
//   class NAME ORDER                    of our own settings
//   reserved kubelet CPU|annotation CPU|cpus LIST|exclusive LIST
//   pod, container, task, application, gone   (policy/protect/testing/tasks.h)
//   unknown NAME                        a pod's cgroup without a known pod
//   uses NAME CPU|unknown [throttled|refused]
//   cpuset NAME LIST                    where the scheduler put it
//   system CPU|unknown                  what the node uses beside all of them
//   kernel v1|v2     kubelet static|none     state on|off
//   in-force cpus LIST|unknown     in-force quota N|unknown      set by another program
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/cpu_list.h"
#include "policy/protect/suppress/suppress.h"
#include "policy/protect/testing/tasks.h"

namespace tidemark::policy::testing {

inline constexpr std::string_view kBesteffort = "kubepods/besteffort";

class SuppressStage {
 public:
  // False: not a verb of this stage.
  bool take(std::string_view verb, Words& words);
  // One pass, `after` the one before; what it wants is in force then.
  protect::SuppressPlan step(base::Duration after);

  protect::NodeRules rules;

 private:
  struct Use {
    std::optional<model::CpuMilli> used;
    bool throttled = false;
    bool refused = false;
  };

  void node(Words& words);
  void set_rules(Words& words);
  void reserve(Words& words);
  void in_force(Words& words);
  std::vector<model::Task> tasks_with_cpusets() const;
  void look(const std::vector<model::Task>& tasks);
  void carry_out(const protect::SuppressPlan& plan);

  TaskStage tasks_;
  std::map<std::string, Use> uses_;
  std::map<std::string, std::string> cpusets_;
  std::vector<std::string> unknown_;
  std::optional<model::CpuMilli> system_ = model::CpuMilli{0};
  std::vector<std::int32_t> all_cpus_;
  protect::SuppressObservation seen_;
  protect::SuppressState state_;
  base::MonotonicTime now_{std::chrono::hours(1)};
};

// ---- how ----

inline std::vector<std::int32_t> cpus(std::string_view list) {
  auto parsed = model::parse_cpus(list);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *std::move(parsed);
}

inline std::optional<model::CpuMilli> cpu_or_unknown(const std::string& word) {
  if (word == "unknown") return std::nullopt;
  return cpu_milli(quantity(word));
}

inline std::int64_t whole(const std::string& word) {
  const auto number = base::parse_int(word);
  if (!number) throw std::runtime_error(base::cat("wanted a number, found ", word));
  return *number;
}

inline void SuppressStage::node(Words& words) {
  const std::int64_t processors = whole(words.next());
  std::int64_t numa = 1;
  std::int64_t threads = 1;
  while (!words.empty()) {
    std::int64_t& number = words.next() == "numa" ? numa : threads;
    number = whole(words.next());
  }
  const std::int64_t cores = processors / threads;
  seen_.capacity = model::CpuMilli{processors * 1000};
  seen_.processors.clear();
  all_cpus_.clear();
  for (std::int64_t cpu = 0; cpu < processors; ++cpu) {
    const auto core = static_cast<std::int32_t>(cpu % cores);
    const auto place = static_cast<std::int32_t>(core * numa / cores);
    seen_.processors.push_back({static_cast<std::int32_t>(cpu), core, place, place});
    all_cpus_.push_back(static_cast<std::int32_t>(cpu));
  }
  seen_.besteffort_cpus = all_cpus_;
  seen_.besteffort_quota_us = protect::kNoLimit;
  seen_.kubelet_reserved = model::CpuMilli{0};
  seen_.groups.besteffort = kBesteffort;
}

inline void SuppressStage::set_rules(Words& words) {
  const std::string policy = words.next();
  rules.threshold = {};
  rules.threshold.enable = policy != "off";
  if (policy == "cfsQuota") rules.threshold.cpu_suppress_policy = protect::SuppressPolicy::kCfsQuota;
  if (policy == "idle") rules.threshold.cpu_suppress_policy = protect::SuppressPolicy::kIdle;
  while (!words.empty()) {
    const std::string word = words.next();
    if (word == "line") {
      rules.threshold.cpu_suppress_percent = whole(words.next());
    } else if (word == "least") {
      rules.threshold.cpu_suppress_min_percent = whole(words.next());
    } else {
      throw std::runtime_error(base::cat("rules have no ", word));
    }
  }
}

inline void SuppressStage::reserve(Words& words) {
  const std::string what = words.next();
  const std::string amount = words.next();
  if (what == "kubelet") {
    seen_.kubelet_reserved = cpu_or_unknown(amount);
  } else if (what == "annotation") {
    seen_.annotation_reserved = cpu_milli(quantity(amount));
  } else {
    (what == "cpus" ? seen_.reserved_cpus : seen_.exclusive_cpus) = cpus(amount);
  }
}

inline void SuppressStage::in_force(Words& words) {
  const bool by_cpus = words.next() == "cpus";
  const std::string value = words.next();
  if (by_cpus) {
    seen_.besteffort_cpus = value == "unknown" ? std::nullopt : std::optional(cpus(value));
  } else {
    seen_.besteffort_quota_us = value == "unknown" ? std::nullopt : std::optional(whole(value));
  }
}

inline bool SuppressStage::take(std::string_view verb, Words& words) {
  if (verb == "node") {
    node(words);
  } else if (verb == "rules") {
    set_rules(words);
  } else if (verb == "class") {
    if (!rules.word) rules.word.emplace();
    model::WorkClass work;
    work.name = words.next();
    work.order = whole(words.next());
    rules.word->classes.push_back(work);
  } else if (verb == "reserved") {
    reserve(words);
  } else if (verb == "unknown") {
    unknown_.push_back(words.next());
  } else if (verb == "uses") {
    Use& use = uses_[words.next()];
    use = {cpu_or_unknown(words.next()), false, false};
    if (!words.empty()) (words.next() == "refused" ? use.refused : use.throttled) = true;
  } else if (verb == "cpuset") {
    const std::string name = words.next();
    cpusets_[name] = words.next();
  } else if (verb == "system") {
    system_ = cpu_or_unknown(words.next());
  } else if (verb == "kernel") {
    seen_.nested_cpuset = seen_.nested_quota = words.next() == "v1";
  } else if (verb == "kubelet") {
    seen_.kubelet_static = words.next() == "static";
  } else if (verb == "runs-last") {
    seen_.runs_last = words.next() == "yes";
  } else if (verb == "state") {
    seen_.node_off = words.next() == "off";
  } else if (verb == "in-force") {
    in_force(words);
  } else {
    return tasks_.take(verb, words);
  }
  return true;
}

inline std::vector<model::Task> SuppressStage::tasks_with_cpusets() const {
  std::vector<model::Task> out;
  for (const model::Task* each : tasks_.tasks()) {
    out.push_back(*each);
    model::Task& task = out.back();
    if (const auto found = cpusets_.find(task.name); found != cpusets_.end()) task.cpuset = found->second;
    task.below_besteffort =
        task.kind == model::TaskKind::kHostApplication && protect::lies_below(task.path, kBesteffort);
  }
  return out;
}

inline void SuppressStage::look(const std::vector<model::Task>& tasks) {
  seen_.tasks.clear();
  seen_.groups.pods.clear();
  seen_.groups.containers.clear();
  model::CpuMilli all = system_.value_or(model::CpuMilli{0});
  const auto add = [&](const model::Task* task, const std::string& name) {
    const auto found = uses_.find(name);
    const Use use = found == uses_.end() ? Use{model::CpuMilli{0}, false} : found->second;
    all += use.used.value_or(model::CpuMilli{0});
    seen_.tasks.push_back({task, use.used, use.throttled, use.refused});
  };
  for (const std::string& each : unknown_) add(nullptr, each);
  for (const model::Task& task : tasks) {
    add(&task, task.name);
    if (!protect::lies_below(task.path, kBesteffort)) continue;
    const bool direct = task.path.find('/', kBesteffort.size() + 1) == std::string::npos;
    (direct ? seen_.groups.pods : seen_.groups.containers).push_back(task.path);
    for (const auto& container : task.containers) {
      if (!container.path.empty()) seen_.groups.containers.push_back(container.path);
    }
  }
  seen_.node_used = system_ ? std::optional(all) : std::nullopt;
}

inline void SuppressStage::carry_out(const protect::SuppressPlan& plan) {
  if (plan.holds) return;
  if (seen_.besteffort_cpus) seen_.besteffort_cpus = all_cpus_;
  if (seen_.besteffort_quota_us) seen_.besteffort_quota_us = protect::kNoLimit;
  for (const protect::Intent& each : plan.intents) {
    if (each.group != kBesteffort) continue;
    if (each.want == protect::Want::kCpus) seen_.besteffort_cpus = each.cpus;
    if (each.want == protect::Want::kCpuQuota) seen_.besteffort_quota_us = each.value;
  }
}

inline protect::SuppressPlan SuppressStage::step(base::Duration after) {
  now_ = now_ + after;
  const std::vector<model::Task> tasks = tasks_with_cpusets();
  look(tasks);
  protect::SuppressStep step = protect::suppress(state_, seen_, rules, now_);
  state_ = std::move(step.state);
  carry_out(step.plan);
  return std::move(step.plan);
}

}  // namespace tidemark::policy::testing
