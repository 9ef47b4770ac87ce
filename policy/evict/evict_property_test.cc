// Random lives of a node: work starts, uses memory and CPU, is asked to end, does so or not. Checks invariants in every
// second.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "base/testing/clock.h"
#include "base/text.h"
#include "policy/evict/evict.h"
#include "policy/evict/ladder.h"

namespace tidemark::policy::evict {
namespace {

using base::Duration;
using base::MonotonicTime;
using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
using Random = std::mt19937_64;

constexpr std::int64_t kGi = 1024 * 1024 * 1024;

// Simulates how the node reacts to requests; the measurements follow.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    rules.threshold.enable = true;
    rules.threshold.memory_evict_percent = 70;
    rules.threshold.memory_evict_lower_percent = 60;
    rules.threshold.cpu_evict_percent = 80;
    rules.threshold.cpu_evict_lower_percent = 70;
    rules.threshold.evict_priority = 6999;
    rules.threshold.allocatable_evict_priority = 6999;
    rules.threshold.memory_allocatable_evict_percent = 100;
    rules.threshold.memory_allocatable_evict_lower_percent = 90;
    rules.threshold.cpu_allocatable_evict_percent = 100;
    rules.threshold.cpu_allocatable_evict_lower_percent = 90;
    rules.word.emplace();
    rules.word->classes = {{"transcode", 10}, {"spark", 30}};
    rules.word->evict.grace = seconds(chance(3) ? 5 : 30);
    rules.word->evict.memory_pressure_percent = 20;
    rules.word->evict.disk_free_percent = 20;
    if (chance(2)) {
      rules.threshold.memory_before_kubelet_percent = 85;
      rules.threshold.kubelet_next_bytes = 32 * kGi;
      rules.threshold.pods_before_kubelet_percent = 90;
      rules.threshold.pods_kubelet_next_bytes = 20 * kGi;
    }
    if (chance(2)) rules.word->evict.disk_kubelet_next_percent[0] = 15;
    per_hour = static_cast<std::int64_t>(chance(8) ? 0 : random_() % 25);
    constexpr std::uint32_t kAll = (1U << kEvictFeatures) - 1;
    switches.on = static_cast<std::uint32_t>(chance(2) ? kAll : random_() % (kAll + 1));
    if (chance(2)) ask_back();
    for (int i = 0; i < 8; ++i) arrive();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  bool chance(std::uint64_t one_in) { return random_() % one_in == 0; }

  void skip(Duration by) {
    clock.advance(by);
    real_ = real_ + by;
  }
  // One second passes; `calm`: no new work starts.
  void pass(bool calm) {
    skip(seconds(1));
    if (!calm && chance(6) && made_.size() < 40) arrive();
    std::erase_if(made_, [&](const auto& each) { return each.second.dies && *each.second.dies <= clock.monotonic(); });
    for (auto& [name, one] : made_) {
      if (chance(10)) measure(one);
      // Ended, and still listed for a while.
      if (one.task.deleted && chance(40)) one.task.path.clear();
      if (chance(400)) one.task.phase = model::PodPhase::kSucceeded;
      if (chance(400)) one.dies = clock.monotonic() + seconds(2);
      if (chance(600)) one.task.deleted = real_ + seconds(30);  // evicted by another component
    }
    if (!calm && chance(50)) ask_back();
    answers.clear();
    std::erase_if(under_way_, [&](const auto& each) {
      if (each.first > clock.monotonic()) return false;
      answers.push_back(each.second);
      return true;
    });
    look(calm);
  }

  void carry_out(const EvictPlan& plan) {
    for (const EvictOrder& order : plan.orders) {
      One& one = made_.at(tasks[order.task].task->name);
      if (order.verb == EvictVerb::kKill) {
        if (!one.stuck) one.dies = std::min(one.dies.value_or(clock.monotonic() + hours(9)), soon(3));
        continue;
      }
      const std::uint64_t what = random_() % 10;
      const std::string key = evict_key(one.task);
      if (what < 5) {
        const auto own = seconds(random_() % 60);
        one.task.deleted = real_ + own;
        one.dies = one.stuck || chance(4) ? std::optional<MonotonicTime>() : clock.monotonic() + own;
        if (!chance(5)) answer(key, EvictOutcome::kAccepted);  // else the answer is lost
      } else if (what < 7) {
        answer(key, EvictOutcome::kForbidden);
      } else if (what == 7) {
        answer(key, chance(2) ? EvictOutcome::kNever : EvictOutcome::kGone);
      } else if (what == 8) {
        answer(key, chance(2) ? EvictOutcome::kUnreachable : EvictOutcome::kBusy);
      }
    }
  }

  EvictObservation observation() const { return {node, tasks, answers, per_hour, may_act}; }
  EvictStep step(const EvictState& before) const {
    return evict(before, observation(), rules, switches, clock.monotonic(), clock.wall());
  }
  const model::Task* listed(std::string_view key) const {
    const auto at = std::ranges::find_if(tasks, [&](const TaskSeen& each) { return evict_key(*each.task) == key; });
    return at == tasks.end() ? nullptr : at->task;
  }

  base::testing::Clock clock;
  protect::NodeRules rules;
  EvictSwitches switches;
  NodeSeen node;
  std::vector<TaskSeen> tasks;
  std::vector<EvictAnswer> answers;
  std::int64_t per_hour = 0;
  bool may_act = true;

 private:
  struct One {
    model::Task task;
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    model::DiskHeld disk;
    std::optional<MonotonicTime> dies;
    bool stuck = false;  // no kill ends it
  };

  void ask_back() {
    rules.reclaim.clear();
    for (const char* name : {"transcode", "spark", ""}) {
      if (!chance(3)) continue;
      const auto some = [&](std::uint64_t most) {
        return chance(3) ? std::int64_t{0} : static_cast<std::int64_t>(random_() % most);
      };
      rules.reclaim.push_back({name, {}, {{some(60'000)}, {some(120) * kGi}}, "TM-LEDGER-009"});
    }
  }

  MonotonicTime soon(std::uint64_t most_s) { return clock.monotonic() + seconds(random_() % (most_s + 1)); }
  void answer(const std::string& key, EvictOutcome outcome) {
    if (!chance(8)) under_way_.emplace_back(soon(chance(4) ? 8 : 1) + seconds(1), EvictAnswer{key, outcome});
  }
  void measure(One& one) {
    one.cpu = static_cast<std::int64_t>(random_() % 16'000);
    one.memory = static_cast<std::int64_t>(random_() % 24) * kGi;
    one.disk = {static_cast<std::int64_t>(random_() % 24) * kGi, 0, chance(2)};
  }

  void arrive() {
    One one;
    model::Task& task = one.task;
    task.name = base::cat("t", ++number_);
    task.kind = chance(3) ? model::TaskKind::kCopilotTask : model::TaskKind::kPod;
    task.identity.source = task.kind == model::TaskKind::kPod ? "kubernetes" : "yarn";
    task.identity.task = task.name;
    task.identity.work_class = chance(2) ? "transcode" : chance(2) ? "spark" : "";
    const bool online = chance(6);
    task.qos_raw = task.qos = online ? model::Qos::kLs : model::Qos::kBe;
    task.kube_qos = model::KubeQos::kBurstable;
    task.priority_raw = task.priority = online ? model::PriorityClass::kProd : model::PriorityClass::kBatch;
    task.priority_number = task.priority_value = online ? 9000 : 5000 + static_cast<std::int32_t>(random_() % 100);
    task.eviction_enabled = chance(2);
    task.phase = chance(8) ? model::PodPhase::kPending : model::PodPhase::kRunning;
    if (task.phase == model::PodPhase::kRunning) task.path = base::cat("kubepods/besteffort/", task.name);
    task.started = task.created = real_;
    task.requests.batch = {model::CpuMilli{static_cast<std::int64_t>(random_() % 12'000)},
                           model::MemoryBytes{static_cast<std::int64_t>(random_() % 24) * kGi}};
    one.stuck = chance(12);
    measure(one);
    made_.emplace(task.name, std::move(one));
  }

  void look(bool calm) {
    tasks.clear();
    model::Resources used{{chance(3) ? 30'000 : 10'000}, {(chance(3) ? 120 : 40) * kGi}};
    OfflineCpu offline{{}, {}, model::CpuMilli{calm ? 60'000 : 15'000}};
    std::int64_t on_disk = (chance(3) ? 400 : 100) * kGi;
    for (const auto& [name, one] : made_) {
      const bool known = !chance(20);
      tasks.push_back({&one.task, known ? std::optional(model::CpuMilli{one.cpu}) : std::nullopt,
                       known ? std::optional(model::MemoryBytes{one.memory}) : std::nullopt});
      if (known) tasks.back().disks[0] = one.disk;
      on_disk += one.disk.bytes;
      used += {{one.cpu}, {one.memory}};
      offline.used += {one.cpu};
      offline.request += one.task.requests.batch.cpu.value_or(model::CpuMilli{});
    }
    node = {};
    node.capacity = {{64'000}, {256 * kGi}};
    if (!chance(20)) node.cpu = node.cpu_in_window = used.cpu;
    if (!chance(20)) node.memory = node.memory_of_kubelet = used.memory;
    if (chance(4)) node.left_to_pods = model::MemoryBytes{static_cast<std::int64_t>(random_() % 256) * kGi};
    node.offline = node.offline_in_window = offline;
    node.offered.push_back({model::PriorityClass::kBatch, model::CpuMilli{50'000}, model::MemoryBytes{120 * kGi}});
    node.memory_pressure_percent = chance(10) ? 30 : 0;
    if (!chance(20)) node.disks[0] = {500 * kGi, 500 * kGi - on_disk, 0, 0};
  }

  Random random_;
  base::WallTime real_ = clock.wall();  // the clock of the API server
  std::map<std::string, One> made_;
  std::vector<std::pair<MonotonicTime, EvictAnswer>> under_way_;
  int number_ = 0;
};

bool contains(const std::vector<Leaving>& leaving, std::string_view key) {
  return std::ranges::binary_search(leaving, key, {}, &Leaving::task);
}

bool freed_a_disk(const Leaving& ended) {
  return ended.feature == EvictFeature::kDisk && is_on_its_way(ended.stage);
}

// Follows a life from outside, only by orders and answers.
class Watcher {
 public:
  explicit Watcher(const World& world) : world_(world) {}

  void watch(const EvictState& before, const EvictStep& step) {
    refused_ = false;
    asks_ = 0;
    for (const EvictAnswer& each : world_.answers) answered(each, before);
    if (std::ranges::any_of(step.plan.ended, freed_a_disk)) disk_freed_ = now();
    if (refused_) disk_freed_.reset();  // another task is asked in its place
    for (const EvictOrder& order : step.plan.orders) {
      ASSERT_LT(order.task, world_.tasks.size());
      const model::Task& task = *world_.tasks[order.task].task;
      if (order.verb == EvictVerb::kKill) {
        killed(task, order, before);
      } else {
        asked(task, order);
      }
    }
    ASSERT_LE(asks_, kVictimsAStep);
    bounded(step.state);
    enough(before, step);
    for (const Leaving& one : step.plan.ended) {
      ASSERT_TRUE(contains(before.leaving, one.task));
      ASSERT_FALSE(contains(step.state.leaving, one.task)) << one.task;
    }
  }
  int asked_in_all = 0;
  int killed_in_all = 0;
  int enough_in_all = 0;
  int asked_back_in_all = 0;
  int beyond_in_all = 0;

 private:
  struct Asked {
    MonotonicTime at;
    Duration pause{0};  // of its kind of feature
    bool counts = true;
    std::optional<MonotonicTime> accepted;
    bool never = false;
  };
  MonotonicTime now() const { return world_.clock.monotonic(); }

  void answered(const EvictAnswer& answer, const EvictState& before) {
    const auto at = asked_.find(answer.task);
    const auto known = std::ranges::find(before.leaving, answer.task, &Leaving::task);
    if (at == asked_.end() || known == before.leaving.end()) return;
    Asked& one = at->second;
    if (answer.outcome == EvictOutcome::kNever) one.never = true;
    // Once it accepted, or was killed without an answer, it counts as evicted whatever the later answer is.
    if (known->stage == EvictStage::kLeaving || known->stage == EvictStage::kKilled) return;
    if (known->killed && answer.outcome != EvictOutcome::kAccepted) {
      refused_ |= answer.outcome == EvictOutcome::kForbidden || answer.outcome == EvictOutcome::kNever;
      return;
    }
    if (answer.outcome == EvictOutcome::kAccepted) one.accepted = now();
    const bool refused = answer.outcome == EvictOutcome::kForbidden || answer.outcome == EvictOutcome::kNever;
    refused_ |= refused;
    if (refused || answer.outcome == EvictOutcome::kGone) one.counts = false;
  }

  void asked(const model::Task& task, const EvictOrder& order) {
    ++asks_;
    ++asked_in_all;
    ASSERT_TRUE(is_here(task));
    ASSERT_NE(task.qos_raw, model::Qos::kLs) << "online work";
    ASSERT_FALSE(task.deleted);
    ASSERT_GT(order.gap.amount, 0);
    ASSERT_GT(order.release, 0);
    ASSERT_EQ(order.grace, world_.rules.word->evict.grace);
    if (order.feature == EvictFeature::kReclaim) {
      ASSERT_EQ(task.kind, model::TaskKind::kPod);
      ASSERT_EQ(task.identity.work_class, order.gap.work_class);
      ++asked_back_in_all;
    }
    const std::string key = evict_key(task);
    const bool of_cpu = is_of_cpu(order.feature);
    const bool pressure = order.feature == EvictFeature::kMemoryPressure;
    const bool disk = order.feature == EvictFeature::kDisk;
    if (disk && disk_freed_)
      ASSERT_GE(now() - *disk_freed_, kDiskEvictPause) << "the result of the last one is awaited";
    const Duration pause = of_cpu ? seconds(20) : pressure ? seconds(15) : disk ? seconds(60) : seconds(4);
    if (const auto last = asked_.find(key); last != asked_.end()) {
      ASSERT_GE(now() - last->second.at, kForbiddenPause) << key << " was asked a moment ago";
      ASSERT_FALSE(last->second.never) << key;
      if (last->second.accepted) {
        ASSERT_GE(now() - *last->second.accepted, kGiveUp) << key << " is leaving";
      }
    }
    for (const auto& [name, each] : asked_) {
      if (refused_ || !each.counts || each.pause != pause || each.at == now()) continue;
      ASSERT_GE(now() - each.at, pause) << "contract 7.1: the cool-down";
    }
    if (of_cpu) {
      ASSERT_GE(now() - started_, seconds(20)) << "also at the start";
    }
    Asked& one = asked_[key] = Asked();
    one.at = now();
    one.pause = pause;
    std::int64_t in_hour = 0;
    for (const auto& [name, each] : asked_) in_hour += each.counts && now() - each.at < hours(1) ? 1 : 0;
    ASSERT_LE(in_hour, world_.per_hour + (order.gap.kubelet_next ? kRescuesPerHour : 0));
    if (in_hour > world_.per_hour) ASSERT_TRUE(order.beyond_grant);
    if (order.beyond_grant) ++beyond_in_all;
  }

  void killed(const model::Task& task, const EvictOrder& order, const EvictState& before) {
    ++killed_in_all;
    const std::string key = evict_key(task);
    ASSERT_TRUE(asked_.contains(key));
    ASSERT_TRUE(contains(before.leaving, key));
    ASSERT_FALSE(task.path.empty());
    ASSERT_NE(task.qos_raw, model::Qos::kLs);
    const Asked& one = asked_[key];
    ASSERT_FALSE(one.never);
    if (order.by == model::Reason::kEvictUnreachable) {
      ASSERT_FALSE(is_of_cpu(order.feature));
      ASSERT_NE(order.feature, EvictFeature::kDisk) << "a kill frees no disk";
      ASSERT_FALSE(one.accepted) << "it accepted, and has its grace";
    } else {
      ASSERT_EQ(order.by, model::Reason::kEvictKilled);
      ASSERT_GE(now() - one.at, world_.rules.word->evict.grace);
    }
    if (const auto last = killed_.find(key); last != killed_.end()) {
      ASSERT_GE(now() - last->second, kKillAgain);
    }
    killed_[key] = now();
  }

  void bounded(const EvictState& state) const {
    ASSERT_LE(state.leaving.size(), kLeavingMax);
    ASSERT_LE(static_cast<std::int64_t>(state.hour.size()), model::kEvictionsPerHourMax);
    ASSERT_TRUE(std::ranges::is_sorted(state.hour));
    ASSERT_TRUE(std::ranges::is_sorted(state.leaving, {}, &Leaving::task));
    for (const Leaving& one : state.leaving) {
      ASSERT_NE(world_.listed(one.task), nullptr);
      ASSERT_LE(one.since, now());
      ASSERT_LE(one.deadline, now() + model::kEvictGraceMax);
      if (one.stage == EvictStage::kAsked) {
        ASSERT_LT(now() - one.since, one.busy ? kBusyFor : kUnanswered);
      }
      if (one.stage == EvictStage::kForbidden || one.stage == EvictStage::kKilled) {
        ASSERT_LT(now() - one.since, kGiveUp);
      }
    }
  }

  // The released sum reaches the gap, or the reported reason is true.
  void enough(const EvictState& before, const EvictStep& step) {
    const Gaps gaps = gaps_of(world_.node, world_.tasks, world_.rules, world_.switches);
    ASSERT_EQ(step.plan.verdicts.size(), gaps.verdicts.size());
    const bool all_of_budget =
        static_cast<std::int64_t>(step.state.hour.size()) >= world_.per_hour || asks_ == kVictimsAStep;
    for (const Gap& gap : gaps.gaps) {
      std::int64_t left = gap.amount;
      for (const Leaving& one : step.state.leaving) {
        if (!is_on_its_way(one.stage)) continue;
        const auto at =
            std::ranges::find_if(world_.tasks, [&](const TaskSeen& each) { return evict_key(*each.task) == one.task; });
        left -= one.feature == gap.feature ? release_of(*at, gap) : known_release_of(*at, gap);
      }
      const auto verdict = std::ranges::find_if(
          step.plan.verdicts, [&](const EvictVerdict& each) { return each.feature.feature == gap.feature; });
      ASSERT_NE(verdict, step.plan.verdicts.end());
      ASSERT_GE(verdict->missing, 0);
      if (left <= 0) {
        ++enough_in_all;
        continue;
      }
      if (verdict->missing == 0) continue;  // another task ends, too
      const auto& not_before = is_of_cpu(gap.feature)                         ? before.cpu_not_before
                               : gap.feature == EvictFeature::kMemoryPressure ? before.pressure_not_before
                               : gap.feature == EvictFeature::kDisk           ? before.disk_not_before
                                                                              : before.memory_not_before;
      const bool waits = (not_before && now() < *not_before) ||
                         (gap.feature == EvictFeature::kDisk && std::ranges::any_of(step.plan.ended, freed_a_disk));
      if (waits || all_of_budget || !world_.may_act) continue;
      const bool asked_now = std::ranges::any_of(step.plan.orders, [&](const EvictOrder& order) {
        return order.verb == EvictVerb::kAsk && order.gap.measure == gap.measure && order.gap.disk == gap.disk &&
               order.feature == gap.feature;
      });
      const VictimRules rules{world_.rules.threshold, world_.rules.word->classes, ""};
      for (const Victim& each : victims(world_.tasks, gap, gap.amount, rules, world_.clock.wall())) {
        if (asked_now && each.sight != Sight::kSeen) break;  // the result of those is awaited first
        const model::Task& task = *world_.tasks[each.task].task;
        ASSERT_TRUE(contains(step.state.leaving, evict_key(task)) || !is_here(task)) << task.name << " may go";
      }
    }
  }

  const World& world_;
  const MonotonicTime started_ = world_.clock.monotonic();
  std::map<std::string, Asked> asked_;
  std::optional<MonotonicTime> disk_freed_;
  std::map<std::string, MonotonicTime> killed_;
  std::size_t asks_ = 0;
  bool refused_ = false;  // in this step
};

TEST(EvictProperty, InvariantsHoldInEverySecondOfAnyLife) {
  int asked = 0, killed = 0, enough = 0, asked_back = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(base::cat("seed ", seed));
    World world(seed);
    Watcher watcher(world);
    EvictState state = first_evict_state(world.clock.monotonic());
    const bool jumps = seed % 3 == 0;
    for (int second = 0; second < 400; ++second) {
      SCOPED_TRACE(base::cat("second ", second));
      // Sometimes most of an hour passes at once, so that the budget slides.
      if (world.chance(200)) world.skip(minutes(50));
      if (jumps && world.chance(50)) world.clock.jump_wall(world.chance(2) ? hours(3) : -hours(3));
      world.pass(false);
      EvictStep step = world.step(state);
      watcher.watch(state, step);
      if (::testing::Test::HasFatalFailure()) return;
      state = std::move(step.state);
      world.carry_out(step.plan);
    }
    asked += watcher.asked_in_all;
    killed += watcher.killed_in_all;
    enough += watcher.enough_in_all;
    asked_back += watcher.asked_back_in_all;
  }
  // Without evictions the test proves nothing.
  EXPECT_GT(asked, 500);
  EXPECT_GT(killed, 100);
  EXPECT_GT(enough, 500);
  EXPECT_GT(asked_back, 50);
}

// The order of tasks and answers does not matter, and neither does repeating the step.
TEST(EvictProperty, IsDeterministic) {
  Random random(7);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    EvictState state = first_evict_state(world.clock.monotonic());
    for (int second = 0; second < 200; ++second) {
      world.pass(false);
      EvictStep step = world.step(state);
      const auto named = [&](const EvictPlan& plan) {
        std::vector<std::string> out;
        for (const EvictOrder& each : plan.orders) {
          out.push_back(base::cat(static_cast<int>(each.verb), " ", world.tasks[each.task].task->name, " ",
                                  each.gap.amount, " ", each.release));
        }
        return out;
      };
      const auto orders = named(step.plan);
      const std::vector<TaskSeen> tasks = world.tasks;
      std::ranges::shuffle(world.tasks, random);
      const EvictStep other = world.step(state);
      ASSERT_EQ(other.state, step.state);
      ASSERT_EQ(other.plan.verdicts, step.plan.verdicts);
      ASSERT_EQ(other.plan.ended, step.plan.ended);
      ASSERT_EQ(named(other.plan), orders);
      world.tasks = tasks;
      state = std::move(step.state);
      world.carry_out(step.plan);
    }
  }
}

// With may_act false it shows the same orders, and its state changes only by ended tasks and answers.
TEST(EvictProperty, ObservingOrdersNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    EvictState state = first_evict_state(world.clock.monotonic());
    for (int second = 0; second < 200; ++second) {
      world.pass(false);
      EvictStep acts = world.step(state);
      world.may_act = false;
      const EvictStep shows = world.step(state);
      ASSERT_EQ(shows.plan.orders, acts.plan.orders);
      ASSERT_EQ(shows.plan.verdicts, acts.plan.verdicts);
      ASSERT_EQ(shows.plan.ended, acts.plan.ended);
      ASSERT_LE(shows.state.hour.size(), state.hour.size());
      ASSERT_LE(shows.state.cpu_not_before, state.cpu_not_before);
      ASSERT_LE(shows.state.memory_not_before, state.memory_not_before);
      ASSERT_LE(shows.state.pressure_not_before, state.pressure_not_before);
      if (std::ranges::none_of(shows.plan.ended, freed_a_disk)) {
        ASSERT_LE(shows.state.disk_not_before, state.disk_not_before);
      }
      for (const Leaving& one : shows.state.leaving) ASSERT_TRUE(contains(state.leaving, one.task));
      // It may do what it showed a moment later, as if it had not run before.
      world.may_act = true;
      const bool refused = std::ranges::any_of(world.answers, [](const EvictAnswer& each) {
        return each.outcome == EvictOutcome::kForbidden || each.outcome == EvictOutcome::kNever;
      });
      if (!refused) {
        ASSERT_EQ(world.step(shows.state).plan.orders, acts.plan.orders);
      }
      state = std::move(acts.state);
      world.carry_out(acts.plan);
    }
  }
}

// Nothing is awaited forever: if no new task is asked, only tasks that may stay remain in the list.
TEST(EvictProperty, EveryLadderEnds) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    World world(seed);
    EvictState state = first_evict_state(world.clock.monotonic());
    for (int second = 0; second < 200; ++second) {
      world.pass(false);
      EvictStep step = world.step(state);
      state = std::move(step.state);
      world.carry_out(step.plan);
    }
    world.per_hour = 0;
    world.rules.threshold.kubelet_next_bytes.reset();
    world.rules.threshold.pods_kubelet_next_bytes.reset();
    world.rules.word->evict.disk_kubelet_next_percent = {};
    const auto most = model::kEvictGraceMax + kGiveUp + kForbiddenPause;
    for (Duration at{0}; at < most; at += seconds(1)) {
      if (seed % 2 == 0 && world.chance(100)) world.clock.jump_wall(-hours(5));
      world.pass(true);
      EvictStep step = world.step(state);
      state = std::move(step.state);
      world.carry_out(step.plan);
    }
    for (const Leaving& one : state.leaving) ASSERT_EQ(one.stage, EvictStage::kSpared) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tidemark::policy::evict
