// A node with work on it for eviction, set up line by line:
//
//   node CPU/MEMORY                          its capacity; unknown
//   node-uses cpu CPU|unknown [in-window CPU|unknown]      without in-window the same in the window
//   node-uses memory BYTES|unknown [of-kubelet BYTES|unknown]           node-uses pressure PERCENT|unknown
//   pods-have-left BYTES|unknown             of the limit that all of them have together; default: none
//   offline uses CPU request CPU limit CPU|unknown         of all offline work, now and in the window
//   offline unknown        offline-in-window uses … | unknown        of the window only
//   offered batch|mid|prod CPU/MEMORY        "-" unknown
//   rules off
//   rules FIELD NUMBER …                     FIELD as the NodeSLO names it: memoryEvictThresholdPercent 70
//   rules cpuEvictPolicy evictByRealLimit|evictByAllocatable
//   on FEATURE …                             BECPUEvict
//   pressure-line PERCENT      grace DURATION              of our own settings
//   disk-line PERCENT|none     inodes-line PERCENT|none    the same
//   disk kubelet|runtime FREE of BYTES [inodes FREE of COUNT]       a disk of the node; "unknown" in place of all that
//   holds NAME kubelet|runtime BYTES [inodes COUNT] [whole]         whole: nothing else; else the rest is unknown
//   wrote NAME BYTES                         in all; unset: not measured
//   class NAME ORDER [restart DURATION] [checkpointing]
//   business NAME                            the pool's own
//   keep NAME CPU/MEMORY [REASON]            what the manager lets pods of that class keep; NAME "-" is without one
//   keep nothing-told                        no order of the manager
//   pod, container, task, application, gone  (policy/protect/testing/tasks.h)
//   uses NAME CPU/MEMORY                     "-" is not measured
//   about NAME WORD …                        priority N, priority-class NAME, sub-priority N, eviction-priority N,
//                                            evictable, policy FEATURE[,FEATURE …], infrastructure, business NAME,
//                                            age DURATION, progress PERCENT, held BYTES, native CPU/MEMORY,
//                                            mid CPU/MEMORY, source NAME, uid TEXT, static, deleted,
//                                            attempt NAME, beside-pods
//   yarn-preempts                            from now on its ResourceManager preempts YARN's tasks
//   yarn class|preempt                       of our own settings
//   after DURATION                           time passes
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/evict/gap.h"
#include "policy/evict/victims.h"
#include "policy/protect/testing/tasks.h"

namespace tidemark::policy::testing {

class EvictNode {
 public:
  // False: not a verb of the stage.
  bool take(std::string_view verb, Words& words);

  // The tasks as they are now, by name; valid until the next call.
  std::span<const evict::TaskSeen> look();
  evict::Gaps gaps();
  evict::VictimRules victim_rules() const;

  bool yarn_preempts = false;
  protect::NodeRules rules;  // with the classes, the business and our own settings
  evict::EvictSwitches switches;
  evict::NodeSeen node;
  base::MonotonicTime now{std::chrono::hours(1)};
  base::WallTime wall{std::chrono::hours(24 * 365 * 50)};

 private:
  model::AgentWord& word() { return rules.word ? *rules.word : rules.word.emplace(); }
  model::EvictSettings& settings() { return word().evict; }

  struct Said {
    std::string word;
    std::string value;
  };
  struct Use {
    std::optional<model::CpuMilli> cpu;
    std::optional<model::MemoryBytes> memory;
  };

  void node_uses(Words& words);
  void disk(Words& words);
  void holds(Words& words);
  void set_rules(Words& words);
  void work_class(Words& words);
  void keep(Words& words);
  void about(Words& words);
  void tell(model::Task& task, const Said& said) const;

  TaskStage stage_;
  std::map<std::string, std::vector<Said>> about_;
  std::map<std::string, Use> uses_;
  std::map<std::string, model::ByDisk<model::DiskHeld>> holds_;
  std::map<std::string, std::int64_t> wrote_;
  std::set<std::string> beside_pods_;  // outside kubepods
  std::vector<model::Task> tasks_;
  std::vector<evict::TaskSeen> seen_;
};

// ---- how ----

inline std::int64_t evict_number(const std::string& word) {
  const auto number = base::parse_int(word);
  if (!number) throw std::runtime_error(base::cat("wanted a number, found ", word));
  return *number;
}

inline std::optional<model::CpuMilli> evict_cpu(const std::string& word) {
  if (word == "unknown" || word == "-") return std::nullopt;
  return cpu_milli(quantity(word));
}

inline std::optional<model::MemoryBytes> evict_memory(const std::string& word) {
  if (word == "unknown" || word == "-") return std::nullopt;
  return memory_bytes(quantity(word));
}

inline model::Disk evict_disk(const std::string& word) {
  if (word == "kubelet") return model::Disk::kKubelet;
  if (word == "runtime") return model::Disk::kRuntime;
  throw std::runtime_error(base::cat("unknown disk: ", word));
}

inline std::int64_t evict_bytes(const std::string& word) {
  return memory_bytes(quantity(word)).value;
}

inline std::optional<evict::OfflineCpu> evict_offline(Words& words) {
  std::string word = words.next();
  if (word == "unknown") return std::nullopt;
  evict::OfflineCpu out;
  while (true) {
    const std::string value = words.next();
    if (word == "uses") {
      out.used = evict_cpu(value).value();
    } else if (word == "request") {
      out.request = evict_cpu(value).value();
    } else if (word == "limit") {
      out.limit = evict_cpu(value);
    } else {
      throw std::runtime_error(base::cat("offline work has no ", word));
    }
    if (words.empty()) return out;
    word = words.next();
  }
}

inline void EvictNode::node_uses(Words& words) {
  const std::string what = words.next();
  const std::string value = words.next();
  if (what == "cpu") {
    node.cpu = node.cpu_in_window = evict_cpu(value);
    if (words.empty()) return;
    if (words.next() != "in-window") throw std::runtime_error("wanted in-window");
    node.cpu_in_window = evict_cpu(words.next());
  } else if (what == "memory") {
    node.memory = evict_memory(value);
    if (words.empty()) return;
    if (words.next() != "of-kubelet") throw std::runtime_error("wanted of-kubelet");
    node.memory_of_kubelet = evict_memory(words.next());
  } else if (what == "pressure") {
    node.memory_pressure_percent = value == "unknown" ? std::nullopt : std::optional(evict_number(value));
  } else {
    throw std::runtime_error(base::cat("a node uses no ", what));
  }
}

inline void EvictNode::disk(Words& words) {
  auto& seen = node.disks[static_cast<std::size_t>(evict_disk(words.next()))];
  const std::string free = words.next();
  seen.reset();
  if (free == "unknown") return;
  const auto of = [&] {
    if (words.next() != "of") throw std::runtime_error("wanted of");
    return words.next();
  };
  seen.emplace();
  seen->bytes_free = evict_bytes(free);
  seen->bytes = evict_bytes(of());
  if (words.empty()) return;
  if (words.next() != "inodes") throw std::runtime_error("wanted inodes");
  seen->inodes_free = evict_number(words.next());
  seen->inodes = evict_number(of());
}

inline void EvictNode::holds(Words& words) {
  const std::string name = words.next();
  model::DiskHeld& its = holds_[name][static_cast<std::size_t>(evict_disk(words.next()))];
  its = {evict_bytes(words.next()), 0, false};
  while (!words.empty()) {
    const std::string word = words.next();
    if (word == "inodes") {
      its.inodes = evict_number(words.next());
    } else if (word == "whole") {
      its.whole = true;
    } else {
      throw std::runtime_error(base::cat("nothing is held as ", word));
    }
  }
}

inline void EvictNode::set_rules(Words& words) {
  using Field = std::optional<std::int64_t> protect::ThresholdRules::*;
  static const std::map<std::string, Field, std::less<>> kFields{
      {"memoryEvictLowerPercent", &protect::ThresholdRules::memory_evict_lower_percent},
      {"memoryAllocatableEvictThresholdPercent", &protect::ThresholdRules::memory_allocatable_evict_percent},
      {"memoryAllocatableEvictLowerPercent", &protect::ThresholdRules::memory_allocatable_evict_lower_percent},
      {"cpuEvictBESatisfactionUpperPercent", &protect::ThresholdRules::cpu_evict_satisfaction_upper_percent},
      {"cpuEvictBESatisfactionLowerPercent", &protect::ThresholdRules::cpu_evict_satisfaction_lower_percent},
      {"cpuEvictBEUsageThresholdPercent", &protect::ThresholdRules::cpu_evict_usage_percent},
      {"cpuEvictTimeWindowSeconds", &protect::ThresholdRules::cpu_evict_window_s},
      {"cpuEvictThresholdPercent", &protect::ThresholdRules::cpu_evict_percent},
      {"cpuEvictLowerPercent", &protect::ThresholdRules::cpu_evict_lower_percent},
      {"cpuAllocatableEvictThresholdPercent", &protect::ThresholdRules::cpu_allocatable_evict_percent},
      {"cpuAllocatableEvictLowerPercent", &protect::ThresholdRules::cpu_allocatable_evict_lower_percent},
      {"memoryBeforeKubeletPercent", &protect::ThresholdRules::memory_before_kubelet_percent},
      {"podsBeforeKubeletPercent", &protect::ThresholdRules::pods_before_kubelet_percent},
      {"evictEnabledPriorityThreshold", &protect::ThresholdRules::evict_priority},
      {"allocatableEvictPriorityThreshold", &protect::ThresholdRules::allocatable_evict_priority},
  };
  protect::ThresholdRules& threshold = rules.threshold;
  threshold = {};
  threshold.enable = true;
  while (!words.empty()) {
    const std::string name = words.next();
    if (name == "off") {
      threshold.enable = false;
    } else if (name == "cpuEvictPolicy") {
      threshold.cpu_evict_policy = words.next() == "evictByAllocatable" ? protect::CpuEvictPolicy::kByAllocatable
                                                                        : protect::CpuEvictPolicy::kByRealLimit;
    } else if (name == "memoryEvictThresholdPercent") {
      threshold.memory_evict_percent = evict_number(words.next());
    } else if (const auto field = kFields.find(name); field != kFields.end()) {
      threshold.*(field->second) = evict_number(words.next());
    } else {
      throw std::runtime_error(base::cat("rules have no ", name));
    }
  }
}

inline void EvictNode::work_class(Words& words) {
  model::WorkClass work;
  work.name = words.next();
  work.order = evict_number(words.next());
  while (!words.empty()) {
    const std::string word = words.next();
    if (word == "restart") {
      work.restart_cost = duration(words.next());
    } else if (word == "checkpointing") {
      work.checkpointing = true;
    } else {
      throw std::runtime_error(base::cat("a class has no ", word));
    }
  }
  word().classes.push_back(work);
  std::ranges::sort(word().classes, {}, &model::WorkClass::order);
}

inline void EvictNode::keep(Words& words) {
  const std::string name = words.next();
  if (name == "nothing-told") return rules.reclaim.clear();
  const model::Resources amount = amounts(words.next());
  rules.reclaim.push_back({name == "-" ? "" : name, {}, amount, words.empty() ? "TM-LEDGER-009" : words.next()});
}

inline void EvictNode::about(Words& words) {
  constexpr std::string_view kAlone[] = {"evictable", "infrastructure", "static", "deleted"};
  const std::string name = words.next();
  while (!words.empty()) {
    Said said{words.next(), {}};
    if (said.word == "beside-pods") {
      beside_pods_.insert(name);
      continue;
    }
    if (said.word == "age") {
      // From now on: time goes on for it too.
      said.value = base::cat((wall.since_epoch - duration(words.next())).count());
    } else if (std::ranges::find(kAlone, said.word) == std::end(kAlone)) {
      said.value = words.next();
    }
    about_[name].push_back(std::move(said));
  }
}

inline void EvictNode::tell(model::Task& task, const Said& said) const {
  const auto number = [&] { return evict_number(said.value); };
  const auto small = [&] { return static_cast<std::int32_t>(number()); };
  const std::string& word = said.word;
  if (word == "priority") {
    task.priority_number = small();
  } else if (word == "priority-class") {
    task.priority_raw = model::parse_priority_class(said.value);
  } else if (word == "sub-priority") {
    task.sub_priority = small();
  } else if (word == "eviction-priority") {
    task.eviction_priority = small();
  } else if (word == "evictable") {
    task.eviction_enabled = true;
  } else if (word == "policy") {
    task.eviction_features.emplace();
    for (const auto each : base::split(said.value, ',')) task.eviction_features->emplace_back(each);
  } else if (word == "infrastructure") {
    task.infrastructure = true;
  } else if (word == "business") {
    task.identity.business = said.value;
  } else if (word == "attempt") {
    task.identity.attempt = said.value;
  } else if (word == "age") {
    task.created = task.started = base::WallTime{base::Duration(number())};
  } else if (word == "progress") {
    task.progress_percent = small();
  } else if (word == "held") {
    task.held_bytes = memory_bytes(quantity(said.value)).value;
  } else if (word == "native") {
    task.requests.native = testing::said(said.value);
  } else if (word == "mid") {
    task.requests.mid = testing::said(said.value);
  } else if (word == "source") {
    task.identity.source = said.value;
  } else if (word == "uid") {
    task.identity.task = said.value;
  } else if (word == "static") {
    task.fixed = true;
  } else if (word == "deleted") {
    task.deleted = wall;
  } else {
    throw std::runtime_error(base::cat("nothing is said as ", word));
  }
}

inline bool EvictNode::take(std::string_view verb, Words& words) {
  if (verb == "node") {
    const std::string capacity = words.next();
    node.capacity = capacity == "unknown" ? model::Resources{} : amounts(capacity);
  } else if (verb == "node-uses") {
    node_uses(words);
  } else if (verb == "pods-have-left") {
    node.left_to_pods = evict_memory(words.next());
  } else if (verb == "offline") {
    node.offline = node.offline_in_window = evict_offline(words);
  } else if (verb == "offline-in-window") {
    node.offline_in_window = evict_offline(words);
  } else if (verb == "oversold") {
    node.oversold = evict_cpu(words.next());
  } else if (verb == "offered") {
    evict::NodeSeen::Offered offered;
    offered.of = model::parse_priority_class(base::cat("koord-", words.next()));
    const model::SaidAmounts there = said(words.next());
    offered.cpu = there.cpu;
    offered.memory = there.memory;
    std::erase_if(node.offered, [&](const evict::NodeSeen::Offered& each) { return each.of == offered.of; });
    node.offered.push_back(offered);
  } else if (verb == "rules") {
    set_rules(words);
  } else if (verb == "on") {
    while (!words.empty()) switches.set(evict::parse_evict_feature(words.next()).value());
  } else if (verb == "pressure-line") {
    settings().memory_pressure_percent = evict_number(words.next());
  } else if (verb == "disk-line" || verb == "inodes-line") {
    const std::string word = words.next();
    (verb == "disk-line" ? settings().disk_free_percent : settings().inodes_free_percent) =
        word == "none" ? std::nullopt : std::optional(evict_number(word));
  } else if (verb == "disk") {
    disk(words);
  } else if (verb == "holds") {
    holds(words);
  } else if (verb == "wrote") {
    const std::string name = words.next();
    wrote_[name] = evict_bytes(words.next());
  } else if (verb == "grace") {
    settings().grace = duration(words.next());
  } else if (verb == "class") {
    work_class(words);
  } else if (verb == "business") {
    word().business = words.next();
  } else if (verb == "keep") {
    keep(words);
  } else if (verb == "yarn-preempts") {
    yarn_preempts = true;
  } else if (verb == "yarn") {
    settings().yarn_by_class = words.next() == "class";
  } else if (verb == "uses") {
    const std::string name = words.next();
    const model::SaidAmounts used = said(words.next());
    uses_[name] = {used.cpu, used.memory};
  } else if (verb == "about") {
    about(words);
  } else if (verb == "after") {
    const base::Duration passed = duration(words.next());
    now = now + passed;
    wall = wall + passed;
  } else {
    return stage_.take(verb, words);
  }
  return true;
}

inline std::span<const evict::TaskSeen> EvictNode::look() {
  tasks_.clear();
  seen_.clear();
  for (const model::Task* each : stage_.tasks()) {
    model::Task& task = tasks_.emplace_back(*each);
    const bool pod = task.kind == model::TaskKind::kPod;
    task.identity.source = pod ? "kubernetes" : task.kind == model::TaskKind::kCopilotTask ? "yarn" : "host";
    task.identity.task = task.name;
    if (!pod) task.priority_raw = model::PriorityClass::kBatch;
    if (const auto found = about_.find(task.name); found != about_.end()) {
      for (const Said& said : found->second) tell(task, said);
    }
    if (task.priority_number && task.priority_raw == model::PriorityClass::kNone) {
      task.priority_raw = model::priority_class_of(*task.priority_number);
    }
    task.priority = model::priority_class_with_default(task.priority_raw, task.qos);
    task.priority_value = model::priority_with_default(task.priority_number, task.priority);
  }
  for (const model::Task& task : tasks_) {
    const auto used = uses_.find(task.name);
    const Use use = used == uses_.end() ? Use{} : used->second;
    seen_.push_back({&task, use.cpu, use.memory});
    if (const auto held = holds_.find(task.name); held != holds_.end()) seen_.back().disks = held->second;
    seen_.back().in_pods = !beside_pods_.contains(task.name);
    if (const auto wrote = wrote_.find(task.name); wrote != wrote_.end()) seen_.back().written_bytes = wrote->second;
  }
  return seen_;
}

inline evict::Gaps EvictNode::gaps() {
  return evict::gaps_of(node, look(), rules, switches);
}

inline evict::VictimRules EvictNode::victim_rules() const {
  if (!rules.word) return {rules.threshold, {}, {}, yarn_preempts};
  return {rules.threshold, rules.word->classes, rules.word->business, yarn_preempts, rules.word->evict.yarn_by_class};
}

}  // namespace tidemark::policy::testing
