// Plays testdata/step/*.txt: a node of 100 cores and 100Gi, a step a second. What sets the stage:
//
//   on FEATURE…                        which features are switched on, and no others
//   grant N                            evictions in an hour (2)
//   grace DURATION                     of our own settings (30s)
//   pressure PERCENT                   the line of pressure
//   stalls PERCENT                     the pressure
//   line PERCENT LOWER                 of memory (70 60)
//   kubelet-next memory|disk PERCENT   from there on, or if less is free, the kubelet is about to evict
//   disk-line PERCENT                  of our own settings
//   disk FREE of BYTES|unknown         the kubelet's
//   holds NAME BYTES [whole]           on it; whole: nothing else
//   satisfaction UPPER LOWER, limit CPU   of BECPUEvict; default unset, 100
//   rest CPU/MEMORY|unknown            what the node uses beside the tasks below; unknown: not measured
//   pod NAME CPU/MEMORY                uses so much; a batch pod of QoS BE that may be evicted, low in the order of
//   names task NAME CPU/MEMORY               the same, of YARN requests NAME CPU/MEMORY           batch resources
//   class NAME CLASS                   of its work: none
//   keep CLASS CPU/MEMORY [REASON]     what the manager lets pods of that class keep; CLASS "-" is without one
//   keep nothing-told                  no order of the manager
//   lines on|off                       resourceUsedThresholdWithBE.enable
//   offers CPU/MEMORY                  batch resources of the node
//   uses NAME CPU/MEMORY|unknown
//   guarded NAME                       may go only for features of raw QoS BE: it has no eviction-enabled label
//   gone NAME                          it is no longer listed
//   over|pending|without-group|with-group NAME
//   ends NAME DURATION                 it is ending, and its own grace period is over after DURATION
//   answer NAME accepted|forbidden|never|unreachable|gone|preempted|replaced|sent|busy
//   observe on|off                     whether it may act
//   wall DURATION                      the wall clock jumps
//
// What asks:
//
//   step [after DURATION]     a second after the one before
//   run DURATION              steps, a second each; prints those that order or end something
//   why                       how each feature came out in the last step
//   state                     the tasks that are awaited
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/testing/clock.h"
#include "policy/evict/evict.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::evict {
namespace {

using base::cat;
using base::Duration;
using std::chrono::seconds;
using testing::Words;

constexpr std::string_view kStages[] = {"asked", "leaving", "forbidden", "spared", "killed"};
constexpr std::int64_t kMi = 1024 * 1024;
constexpr std::int64_t kMemory_bytes = 100 * 1024 * kMi;

bool in_memory(EvictFeature feature) {
  return feature != EvictFeature::kBeCpu && feature != EvictFeature::kCpuAllocatable && feature != EvictFeature::kCpu;
}
std::string amount(bool memory, std::int64_t value) {
  if (!memory) return cat(value, "m");
  return value % (1024 * kMi) == 0 ? cat(value / (1024 * kMi), "Gi") : cat(value / kMi, "Mi");
}

class Scenario {
 public:
  Scenario() {
    protect::ThresholdRules& line = rules_.threshold;
    line.enable = true;
    line.memory_evict_percent = 70;
    line.memory_evict_lower_percent = 60;
    line.cpu_evict_percent = 70;
    line.cpu_evict_lower_percent = 60;
    line.evict_priority = line.allocatable_evict_priority = 6999;
    line.memory_allocatable_evict_percent = line.cpu_allocatable_evict_percent = 100;
    line.memory_allocatable_evict_lower_percent = line.cpu_allocatable_evict_lower_percent = 80;
    rules_.word.emplace();
  }

  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "step") {
      if (!words.empty() && words.next() != "after") throw std::runtime_error("wanted after");
      answers = step(words.empty() ? seconds(1) : testing::duration(words.next()));
      if (answers.empty()) answers.emplace_back("> nothing");
    } else if (verb == "run") {
      answers = run(testing::duration(words.next()));
    } else if (verb == "why") {
      answers = why();
    } else if (verb == "state") {
      answers = told();
    } else {
      set(verb, words);
    }
    words.expect_end();
    return answers;
  }

 private:
  struct One {
    model::Task task;
    std::optional<model::Resources> used;
    model::DiskHeld held;
  };

  One& one(const std::string& name) {
    const auto found = tasks_.find(name);
    if (found == tasks_.end()) throw std::runtime_error(cat("unknown task: ", name));
    return found->second;
  }
  model::Task& task(Words& words) { return one(words.next()).task; }

  void arrive(bool pod, Words& words) {
    One made;
    model::Task& task = made.task;
    task.name = task.identity.task = words.next();
    task.kind = pod ? model::TaskKind::kPod : model::TaskKind::kCopilotTask;
    task.identity.source = pod ? "kubernetes" : "yarn";
    task.path = cat(pod ? "kubepods/besteffort/" : "yarn/", task.name);
    task.phase = model::PodPhase::kRunning;
    task.qos_raw = task.qos = model::Qos::kBe;
    task.priority_raw = task.priority = model::PriorityClass::kBatch;
    task.priority_number = task.priority_value = 5000;
    task.eviction_enabled = true;
    // In the order of creation, whatever else is set.
    task.eviction_priority = ++made_;
    task.started = task.created = clock_.wall();
    made.used = testing::amounts(words.next());
    tasks_[task.name] = std::move(made);
  }

  void set(const std::string& verb, Words& words) {
    if (verb == "on") {
      switches_ = {};
      while (!words.empty()) {
        const std::string word = words.next();
        const auto feature = parse_evict_feature(word);
        if (!feature) throw std::runtime_error(cat("unknown feature: ", word));
        switches_.set(*feature);
      }
    } else if (verb == "grant") {
      per_hour_ = testing::quantity(words.next()).value();
    } else if (verb == "grace") {
      rules_.word->evict.grace = testing::duration(words.next());
    } else if (verb == "pressure") {
      rules_.word->evict.memory_pressure_percent = testing::quantity(words.next()).value();
    } else if (verb == "stalls") {
      stalls_ = testing::quantity(words.next()).value();
    } else if (verb == "disk-line") {
      rules_.word->evict.disk_free_percent = testing::quantity(words.next()).value();
    } else if (verb == "disk") {
      set_disk(words);
    } else if (verb == "holds") {
      model::DiskHeld& held = one(words.next()).held;
      held = {memory_bytes(testing::quantity(words.next())).value, 0, !words.empty()};
      if (held.whole && words.next() != "whole") throw std::runtime_error("wanted whole");
    } else if (verb == "line") {
      rules_.threshold.memory_evict_percent = testing::quantity(words.next()).value();
      rules_.threshold.memory_evict_lower_percent = testing::quantity(words.next()).value();
    } else if (verb == "kubelet-next") {
      const bool memory = words.next() == "memory";
      const std::int64_t percent = testing::quantity(words.next()).value();
      if (memory) {
        rules_.threshold.memory_before_kubelet_percent = percent;
        rules_.threshold.kubelet_next_bytes = kMemory_bytes / 100 * (100 - percent) + 1;
      }
      if (!memory) rules_.word->evict.disk_kubelet_next_percent[0] = percent;
    } else if (verb == "satisfaction") {
      rules_.threshold.cpu_evict_satisfaction_upper_percent = testing::quantity(words.next()).value();
      rules_.threshold.cpu_evict_satisfaction_lower_percent = testing::quantity(words.next()).value();
    } else if (verb == "limit") {
      limit_ = cpu_milli(testing::quantity(words.next()));
    } else if (verb == "rest") {
      const std::string word = words.next();
      rest_ = word == "unknown" ? std::nullopt : std::optional(testing::amounts(word));
    } else if (verb == "offers") {
      offers_ = testing::amounts(words.next());
    } else if (verb == "pod" || verb == "task") {
      arrive(verb == "pod", words);
    } else if (verb == "requests") {
      model::Task& of = task(words);
      const model::Resources all = testing::amounts(words.next());
      of.requests.batch = {all.cpu, all.memory};
    } else if (verb == "infrastructure") {
      task(words).infrastructure = true;
    } else if (verb == "class") {
      model::Task& of = task(words);
      of.identity.work_class = words.next();
    } else if (verb == "keep") {
      keep(words);
    } else if (verb == "lines") {
      rules_.threshold.enable = words.next() == "on";
    } else if (verb == "uses") {
      One& of = one(words.next());
      const std::string word = words.next();
      of.used = word == "unknown" ? std::nullopt : std::optional(testing::amounts(word));
    } else if (verb == "guarded") {
      task(words).eviction_enabled = false;
    } else if (verb == "gone") {
      tasks_.erase(words.next());
    } else if (verb == "over") {
      task(words).phase = model::PodPhase::kFailed;
    } else if (verb == "pending") {
      model::Task& of = task(words);
      of.phase = model::PodPhase::kPending;
      of.path.clear();
    } else if (verb == "without-group") {
      task(words).path.clear();
    } else if (verb == "with-group") {
      model::Task& of = task(words);
      of.path = cat("again/", of.name);
    } else if (verb == "ends") {
      model::Task& of = task(words);
      of.deleted = clock_.wall() + testing::duration(words.next());
    } else if (verb == "answer") {
      answer(words);
    } else if (verb == "observe") {
      may_act_ = words.next() == "off";
    } else if (verb == "wall") {
      clock_.jump_wall(testing::duration(words.next()));
    } else {
      throw std::runtime_error(cat("unknown verb: ", verb));
    }
  }

  void keep(Words& words) {
    const std::string name = words.next();
    if (name == "nothing-told") return rules_.reclaim.clear();
    const model::Resources amount = testing::amounts(words.next());
    rules_.reclaim.push_back({name == "-" ? "" : name, {}, amount, words.empty() ? "TM-LEDGER-009" : words.next()});
  }

  void set_disk(Words& words) {
    const std::string free = words.next();
    disk_.reset();
    if (free == "unknown") return;
    if (words.next() != "of") throw std::runtime_error("wanted of");
    disk_.emplace();
    disk_->bytes_free = memory_bytes(testing::quantity(free)).value;
    disk_->bytes = memory_bytes(testing::quantity(words.next())).value;
  }

  void answer(Words& words) {
    constexpr std::string_view kOutcomes[] = {"accepted",  "forbidden", "never", "unreachable", "gone",
                                              "preempted", "replaced",  "sent",  "busy"};
    const std::string key = evict_key(task(words));
    const std::string word = words.next();
    const auto at = std::ranges::find(kOutcomes, word);
    if (at == std::end(kOutcomes)) throw std::runtime_error(cat("unknown answer: ", word));
    answers_.push_back({key, static_cast<EvictOutcome>(at - std::begin(kOutcomes))});
  }

  NodeSeen node(std::vector<TaskSeen>& seen) const {
    NodeSeen out;
    out.capacity = {{100'000}, {kMemory_bytes}};
    model::Resources used = rest_.value_or(model::Resources());
    OfflineCpu offline{{}, {}, limit_};
    for (const auto& [name, one] : tasks_) {
      seen.push_back({&one.task, {}, {}});
      seen.back().disks[0] = one.held;
      offline.request += one.task.requests.batch.cpu.value_or(model::CpuMilli{});
      if (!one.used) continue;
      seen.back().cpu = one.used->cpu;
      seen.back().memory = one.used->memory;
      used += *one.used;
      offline.used += one.used->cpu;
    }
    if (rest_) {
      out.cpu = out.cpu_in_window = used.cpu;
      out.memory = out.memory_of_kubelet = used.memory;
    }
    out.offline = out.offline_in_window = offline;
    if (offers_) out.offered.push_back({model::PriorityClass::kBatch, offers_->cpu, offers_->memory});
    out.memory_pressure_percent = stalls_;
    out.disks[0] = disk_;
    return out;
  }

  std::vector<std::string> step(Duration after) {
    if (started_) clock_.advance(after);
    if (!started_) state_ = first_evict_state(clock_.monotonic());
    started_ = true;
    std::vector<TaskSeen> seen;
    const NodeSeen node_now = node(seen);
    EvictStep step = evict(state_, {node_now, seen, answers_, per_hour_, may_act_}, rules_, switches_,
                           clock_.monotonic(), clock_.wall());
    answers_.clear();
    state_ = std::move(step.state);
    last_ = std::move(step.plan);
    std::vector<std::string> out;
    for (const Leaving& each : last_.ended) {
      out.push_back(cat("> ended ", each.task, ", ", kStages[static_cast<std::size_t>(each.stage)]));
    }
    for (const EvictOrder& each : last_.orders) {
      const std::string name = seen[each.task].task->name;
      if (each.verb == EvictVerb::kKill) {
        out.push_back(cat("> kill ", name, " [", model::reason_id(each.by), "] of ", to_string(each.feature)));
      } else {
        const bool memory = in_memory(each.feature) && each.gap.measure != Measure::kCpuRequested;
        out.push_back(cat("> ask ", name, " [", model::reason_id(each.reason), "] of ", to_string(each.feature), ": ",
                          amount(memory, each.gap.amount), " missing, releases ", amount(memory, each.release)));
      }
    }
    return out;
  }

  std::vector<std::string> run(Duration time) {
    std::vector<std::string> out;
    for (Duration at = seconds(1); at <= time; at += seconds(1)) {
      for (const std::string& each : step(seconds(1))) {
        out.push_back(cat("> ", base::format_go_duration(at), each.substr(1)));
      }
    }
    if (out.empty()) out.emplace_back("> nothing");
    return out;
  }

  std::vector<std::string> why() const {
    std::vector<std::string> out;
    for (const EvictVerdict& each : last_.verdicts) {
      const EvictFeature feature = each.feature.feature;
      // For reclaim CPU and memory are both shown.
      std::string missing;
      if (each.missing > 0) {
        missing = feature == EvictFeature::kReclaim ? "something" : amount(in_memory(feature), each.missing);
      }
      out.push_back(cat("> ", to_string(feature), " [", model::reason_id(each.reason), "]",
                        missing.empty() ? "" : cat(" ", missing, " missing")));
    }
    return out;
  }

  std::vector<std::string> told() const {
    std::vector<std::string> out;
    for (const Leaving& each : state_.leaving) {
      out.push_back(cat("> ", each.task, " ", kStages[static_cast<std::size_t>(each.stage)], " for ",
                        base::format_go_duration(clock_.monotonic() - each.since), ", asked ",
                        base::format_go_duration(clock_.monotonic() - each.asked), " ago"));
    }
    out.push_back(cat("> ", state_.hour.size(), " of ", per_hour_, " in an hour"));
    return out;
  }

  base::testing::Clock clock_;
  protect::NodeRules rules_;
  EvictSwitches switches_;
  std::map<std::string, One> tasks_;
  std::optional<model::Resources> rest_ = model::Resources();
  model::CpuMilli limit_{100'000};
  std::optional<model::Resources> offers_;
  std::optional<std::int64_t> stalls_;
  std::optional<model::DiskSeen> disk_;
  std::vector<EvictAnswer> answers_;
  std::int64_t per_hour_ = 2;
  bool may_act_ = true;
  bool started_ = false;
  std::int32_t made_ = 0;
  EvictState state_;
  EvictPlan last_;
};

TEST(EvictStepScenarios, IsWhatTheFilesSay) {
  testing::play_scenarios("policy/evict/testdata/step", 29, [] {
    auto scenario = std::make_shared<Scenario>();
    return [scenario](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy::evict
