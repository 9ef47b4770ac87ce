// Plays testdata/victims/*.txt, and checks invariants of victims. testing/stage.h has the verbs that set the stage;
// these print:
//
//   victims FEATURE [of batch|mid|prod]     all that may be evicted for it, in order
//   victims ReclaimEvict of CLASS           "-" is without one
//   goes                                    for each gap, which tasks are evicted and which stay
#include "policy/evict/victims.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>

#include "policy/admission/eviction.h"
#include "policy/evict/testing/stage.h"

namespace tidemark::policy::evict {
namespace {

using base::cat;
using model::PriorityClass;
using Random = std::mt19937_64;

Gap gap_for(EvictFeature feature, PriorityClass oversold = PriorityClass::kNone) {
  Gap gap;
  gap.feature = feature;
  gap.oversold = oversold;
  switch (feature) {
    case EvictFeature::kBeCpu:
    case EvictFeature::kCpuAllocatable:
      gap.measure = Measure::kCpuRequested;
      break;
    case EvictFeature::kMemoryAllocatable:
      gap.measure = Measure::kMemoryRequested;
      break;
    case EvictFeature::kCpu:
      gap.measure = Measure::kCpuUsed;
      break;
    case EvictFeature::kBeMemory:
    case EvictFeature::kMemory:
    case EvictFeature::kMemoryPressure:
      gap.measure = Measure::kMemoryUsed;
      break;
    case EvictFeature::kDisk:
      gap.measure = Measure::kDiskHeld;
      break;
    case EvictFeature::kReclaim:
      gap.measure = Measure::kCpuRequested;
  }
  gap.amount = 1;
  return gap;
}

class Scenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    testing::Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "victims") {
      const EvictFeature feature = parse_evict_feature(words.next()).value();
      PriorityClass of = PriorityClass::kNone;
      std::string work_class;
      if (!words.empty()) {
        if (words.next() != "of") throw std::runtime_error("wanted of");
        work_class = words.next();
        of = model::parse_priority_class(cat("koord-", work_class));
      }
      Gap gap = gap_for(feature, of);
      if (work_class != "-") gap.work_class = work_class;
      answers = all(gap);
    } else if (verb == "goes") {
      for (const Gap& gap : node_.gaps().gaps) answers.push_back(who_goes(gap));
      if (answers.empty()) answers.emplace_back("> none");
    } else if (!node_.take(verb, words)) {
      throw std::runtime_error(cat("unknown verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  std::vector<std::string> all(const Gap& gap) {
    const auto tasks = node_.look();
    const bool cpu = gap.measure == Measure::kCpuUsed || gap.measure == Measure::kCpuRequested;
    std::vector<std::string> out;
    for (const Victim& each : victims(tasks, gap, gap.amount, node_.victim_rules(), node_.wall)) {
      out.push_back(cat("> ", tasks[each.task].task->name, " releases ", each.release, cpu ? "m" : " bytes", ", loses ",
                        each.lost_core_seconds, " core-seconds", each.out_of_turn ? ", out of turn" : ""));
    }
    if (out.empty()) out.emplace_back("> none");
    return out;
  }

  // One after the other, as the step asks them (evict.cc): the next one by what is still missing.
  std::string who_goes(const Gap& gap) {
    const auto tasks = node_.look();
    std::int64_t missing = gap.amount;
    std::set<std::size_t> gone;
    const auto others = [&] {
      auto list = victims(tasks, gap, missing, node_.victim_rules(), node_.wall);
      std::erase_if(list, [&](const Victim& each) { return gone.contains(each.task); });
      return list;
    };
    const auto add = [&](std::string& list, const Victim& one) {
      list += cat(list.empty() ? "" : ", ", tasks[one.task].task->name);
    };
    std::string go;
    auto rest = others();
    for (; missing > 0 && !rest.empty(); rest = others()) {
      add(go, rest.front());
      gone.insert(rest.front().task);
      missing -= rest.front().release;
    }
    std::string stay;
    for (const Victim& each : rest) add(stay, each);
    return cat("> ", to_string(gap.feature), ": ", go.empty() ? "none" : go, "; stays: ", stay.empty() ? "none" : stay);
  }

  testing::EvictNode node_;
};

TEST(VictimScenarios, IsWhatTheFilesSay) {
  testing::play_scenarios("policy/evict/testdata/victims", 10, [] {
    auto scenario = std::make_shared<Scenario>();
    return [scenario](std::string_view line) { return scenario->run(line); };
  });
}

// ---- any node ----

std::int64_t any_number(Random& random, std::int64_t below) {
  constexpr std::int64_t kWild[] = {0, -1, 1, INT64_MAX, INT64_MIN, 999, 100'000'000};
  if (random() % 8 == 0) return kWild[random() % std::size(kWild)];
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
}

struct AnyNode {
  std::vector<model::Task> tasks;
  std::vector<TaskSeen> seen;
  protect::ThresholdRules threshold;
  std::vector<model::WorkClass> classes;
  base::WallTime now;

  VictimRules rules() const { return {threshold, classes, "search"}; }
};

model::Task any_side(Random& random, model::Task task) {
  constexpr std::string_view kSources[] = {"kubernetes", "yarn"};
  const auto small = [&] { return static_cast<std::int32_t>(random() % 3); };
  task.identity.source = kSources[random() % 2];
  task.identity.task = cat("t", random() % 1000);
  task.name = cat("n", random() % 3);
  task.identity.business = random() % 4 == 0 ? "search" : "";
  task.priority_raw = static_cast<PriorityClass>(random() % 5);
  task.priority = model::priority_class_with_default(task.priority_raw, task.qos);
  task.priority_value = model::default_priority(task.priority) + small();
  if (random() % 2 == 0) task.sub_priority = small();
  if (random() % 3 == 0) task.eviction_priority = small();
  task.eviction_enabled = random() % 2 == 0;
  task.infrastructure = random() % 6 == 0;
  task.fixed = random() % 8 == 0;
  if (random() % 8 == 0) task.deleted = base::WallTime{};
  if (random() % 4 == 0) task.created = base::WallTime{base::Duration(any_number(random, INT64_MAX))};
  if (random() % 2 == 0) task.started = base::WallTime{base::Duration(any_number(random, 1'000'000'000'000))};
  if (random() % 4 == 0) task.progress_percent = static_cast<std::int32_t>(any_number(random, 101));
  if (random() % 4 == 0) task.held_bytes = any_number(random, 1'000'000'000'000);
  if (random() % 6 == 0) task.eviction_features = {"BEMemoryEvict", "CPUAllocatableEvict"};
  if (random() % 3 == 0) {
    task.requests.native = {model::CpuMilli{any_number(random, 9000)}, model::MemoryBytes{any_number(random, 9000)}};
  }
  return task;
}

AnyNode any_node(Random& random) {
  AnyNode out;
  for (const model::Task& each : testing::any_tasks(random)) out.tasks.push_back(any_side(random, each));
  for (const model::Task& each : out.tasks) {
    TaskSeen seen{&each, {}, {}};
    if (random() % 5 != 0) seen.cpu = model::CpuMilli{any_number(random, 9000)};
    if (random() % 5 != 0) seen.memory = model::MemoryBytes{any_number(random, 9'000'000'000)};
    if (random() % 3 != 0) seen.written_bytes = any_number(random, 9'000);
    for (model::DiskHeld& disk : seen.disks) {
      if (random() % 3 != 0) disk = {any_number(random, 9'000'000), any_number(random, 9'000), random() % 2 == 0};
    }
    out.seen.push_back(seen);
  }
  if (random() % 5 == 0) out.seen.push_back({});
  if (random() % 4 != 0) out.threshold.evict_priority = random() % 3 == 0 ? any_number(random, 10'000) : 5999;
  if (random() % 4 != 0)
    out.threshold.allocatable_evict_priority = random() % 3 == 0 ? any_number(random, 10'000) : 7999;
  if (random() % 3 != 0) {
    for (const std::string_view name : {"transcode", "training", "spark"}) {
      model::WorkClass work;
      work.name = name;
      work.order = static_cast<std::int64_t>(out.classes.size() + 1) * 10;
      work.restart_cost = base::Duration(any_number(random, 1'000'000'000'000));
      work.checkpointing = random() % 2 == 0;
      out.classes.push_back(work);
    }
  }
  out.now = base::WallTime{base::Duration(any_number(random, 2'000'000'000'000))};
  return out;
}

std::vector<Gap> all_gaps() {
  std::vector<Gap> out;
  for (std::size_t i = 0; i < kEvictFeatures; ++i) {
    const auto feature = static_cast<EvictFeature>(i);
    if (feature == EvictFeature::kDisk) {
      for (const auto measure : {Measure::kDiskHeld, Measure::kInodesHeld}) {
        Gap gap = gap_for(feature);
        gap.measure = measure;
        gap.disk = measure == Measure::kDiskHeld ? model::Disk::kRuntime : model::Disk::kKubelet;
        gap.amount = 40'000;
        out.push_back(gap);
      }
      continue;
    }
    if (feature == EvictFeature::kReclaim) {
      for (const char* name : {"", "transcode", "spark"}) {
        Gap gap = gap_for(feature);
        gap.work_class = name;
        out.insert(out.begin(), gap);
      }
      continue;
    }
    if (feature != EvictFeature::kCpuAllocatable && feature != EvictFeature::kMemoryAllocatable) {
      out.push_back(gap_for(feature));
      continue;
    }
    for (const auto of : {PriorityClass::kBatch, PriorityClass::kMid, PriorityClass::kProd}) {
      out.push_back(gap_for(feature, of));
    }
  }
  return out;
}

// Each at most once, each releases something, each may be evicted, and no other.
TEST(VictimProperty, ListsExactlyTheAllowedTasks) {
  Random random(1);
  std::size_t found = 0;
  for (int round = 0; round < 4000; ++round) {
    const AnyNode node = any_node(random);
    for (const Gap& gap : all_gaps()) {
      const auto list = victims(node.seen, gap, gap.amount, node.rules(), node.now);
      std::set<std::size_t> listed;
      for (const Victim& each : list) {
        ASSERT_TRUE(listed.insert(each.task).second);
        ASSERT_GT(each.release, 0);
        ASSERT_EQ(each.release, release_of(node.seen[each.task], gap));
        ASSERT_GE(each.lost_core_seconds, 0);
      }
      for (std::size_t i = 0; i < node.seen.size(); ++i) {
        ASSERT_EQ(listed.contains(i), may_go(node.seen[i], gap, node.rules()));
        ASSERT_GE(release_of(node.seen[i], gap), 0);
      }
      found += list.size();
    }
  }
  EXPECT_GT(found, 1000U);
}

// No other class, and no work of another scheduler, is evicted to reclaim from one class.
TEST(VictimProperty, ReclaimEvictsOnlyPodsOfTheClass) {
  Random random(8);
  std::size_t found = 0;
  for (int round = 0; round < 3000; ++round) {
    const AnyNode node = any_node(random);
    for (const Gap& gap : all_gaps()) {
      if (gap.feature != EvictFeature::kReclaim) continue;
      for (const Victim& each : victims(node.seen, gap, gap.amount, node.rules(), node.now)) {
        const model::Task& task = *node.seen[each.task].task;
        ASSERT_EQ(task.kind, model::TaskKind::kPod);
        ASSERT_EQ(task.identity.work_class, gap.work_class);
        ASSERT_EQ(each.release, task.requests.batch.cpu->value);
        ++found;
      }
    }
  }
  EXPECT_GT(found, 1000U);
}

// For a disk no task is evicted that is known to hold next to nothing, and one that is not fully known is evicted
// alone.
TEST(VictimProperty, DiskEvictsTasksThatHelpOrOneThatIsUnknown) {
  Random random(6);
  std::size_t guessed = 0, known = 0;
  for (int round = 0; round < 3000; ++round) {
    const AnyNode node = any_node(random);
    const Gap gap = all_gaps().back();
    for (const Victim& each : victims(node.seen, gap, gap.amount, node.rules(), node.now)) {
      const model::DiskHeld& its = node.seen[each.task].disks[static_cast<std::size_t>(gap.disk)];
      if (each.sight == Sight::kSeen) {
        ASSERT_GE(its.inodes, gap.amount / kWorthPart);
        ASSERT_EQ(each.release, its.inodes);
        ++known;
      } else {
        ASSERT_FALSE(its.whole);
        ASSERT_EQ(each.release, gap.amount);
        ASSERT_EQ(each.sight, Sight::kUnseen) << "written bytes say nothing about inodes";
        ++guessed;
      }
    }
  }
  EXPECT_GT(guessed, 500U);
  EXPECT_GT(known, 500U);
}

// The order of the list has no effect.
TEST(VictimProperty, OrderOfTasksDoesNotMatter) {
  Random random(2);
  for (int round = 0; round < 3000; ++round) {
    AnyNode node = any_node(random);
    // Two of one name are one task: then nothing distinguishes them.
    for (std::size_t i = 0; i < node.tasks.size(); ++i) node.tasks[i].identity.task = cat("t", i);
    const Gap gap = all_gaps()[random() % all_gaps().size()];
    const auto names = [&](std::span<const TaskSeen> seen) {
      std::vector<const model::Task*> out;
      for (const Victim& each : victims(seen, gap, gap.amount, node.rules(), node.now))
        out.push_back(seen[each.task].task);
      return out;
    };
    const auto before = names(node.seen);
    std::vector<TaskSeen> shuffled = node.seen;
    std::ranges::shuffle(shuffled, random);
    ASSERT_EQ(names(shuffled), before) << "round " << round;
  }
}

// No task is outranked by a later one: infrastructure, own business, eviction priority, class.
TEST(VictimProperty, LowerRanksComeFirst) {
  Random random(3);
  for (int round = 0; round < 3000; ++round) {
    const AnyNode node = any_node(random);
    const bool disk = round % 2 == 0;
    const auto gaps = all_gaps();
    const Gap gap =
        disk ? gaps[gaps.size() - 1 - static_cast<std::size_t>(round / 2 % 2)] : gap_for(EvictFeature::kMemoryPressure);
    ASSERT_EQ(disk, gap.feature == EvictFeature::kDisk);
    const auto list = victims(node.seen, gap, gap.amount, node.rules(), node.now);
    for (std::size_t i = 1; i < list.size(); ++i) {
      const model::Task& first = *node.seen[list[i - 1].task].task;
      const model::Task& then = *node.seen[list[i].task].task;
      ASSERT_LE(service_rank(first), service_rank(then));
      if (service_rank(first) != service_rank(then)) continue;
      const bool first_own = first.identity.business == "search";
      const bool then_own = then.identity.business == "search";
      ASSERT_LE(first_own, then_own);
      if (first_own != then_own) continue;
      ASSERT_LE(list[i - 1].sight, list[i].sight);
      ASSERT_TRUE(disk || list[i].sight == Sight::kSeen);
      if (list[i - 1].sight != list[i].sight) continue;
      ASSERT_LE(first.eviction_priority, then.eviction_priority);
      if (first.eviction_priority != then.eviction_priority) continue;
      ASSERT_LE(list[i - 1].order, list[i].order);
    }
  }
}

// Its tasks differ only in what they hold, their progress and their name.
void stand_alike(AnyNode& node) {
  for (std::size_t i = 0; i < node.tasks.size(); ++i) {
    model::Task& task = node.tasks[i];
    const auto started = task.started;
    task = model::Task();
    task.qos_raw = model::Qos::kBe;
    task.path = "its";
    task.identity.task = cat("t", i);
    task.started = started;
  }
}

// Of two otherwise equal tasks, the one that is worth it comes first; of those, the one that loses less for what it
// releases. No task is evicted for nothing.
TEST(VictimProperty, TasksThatReleaseLittleComeLater) {
  Random random(9);
  std::size_t small_after_large = 0;
  for (int round = 0; round < 3000; ++round) {
    AnyNode node = any_node(random);
    stand_alike(node);
    Gap gap = gap_for(EvictFeature::kMemoryPressure);
    gap.amount = any_number(random, 20'000'000'000);
    const std::int64_t missing = any_number(random, 20'000'000'000);
    const auto worth = [&](const Victim& each) { return static_cast<__int128>(each.release) * kWorthPart >= missing; };
    const auto list = victims(node.seen, gap, missing, node.rules(), node.now);
    for (std::size_t i = 0; i < list.size(); ++i) {
      ASSERT_GE(list[i].lost_core_seconds, kLostMin_core_seconds);
      if (i == 0) continue;
      const Victim& first = list[i - 1];
      const Victim& then = list[i];
      ASSERT_TRUE(worth(first) || !worth(then)) << "round " << round;
      if (worth(first) != worth(then)) {
        ++small_after_large;
      } else {
        ASSERT_LE(static_cast<__int128>(first.lost_core_seconds) * then.release,
                  static_cast<__int128>(then.lost_core_seconds) * first.release);
      }
    }
  }
  EXPECT_GT(small_after_large, 500U);
}

// A task that holds more of what is missing is asked no later.
TEST(VictimProperty, LargerReleaseComesNoLater) {
  Random random(10);
  std::size_t earlier = 0;
  for (int round = 0; round < 3000; ++round) {
    AnyNode node = any_node(random);
    stand_alike(node);
    Gap gap = gap_for(EvictFeature::kMemoryPressure);
    gap.amount = 10'000'000'000;
    const auto place_of = [&](std::size_t task) {
      const auto list = victims(node.seen, gap, gap.amount, node.rules(), node.now);
      return std::ranges::find(list, task, &Victim::task) - list.begin();
    };
    const auto list = victims(node.seen, gap, gap.amount, node.rules(), node.now);
    if (list.empty()) continue;
    const Victim& one = list[random() % list.size()];
    const auto before = place_of(one.task);
    node.seen[one.task].memory =
        model::MemoryBytes{one.release / 2 + 1 + static_cast<std::int64_t>(random() % 9'000'000'000)};
    const bool more = node.seen[one.task].memory->value >= one.release;
    const auto after = place_of(one.task);
    ASSERT_TRUE(more ? after <= before : after >= before) << "round " << round;
    earlier += after < before ? 1 : 0;
  }
  EXPECT_GT(earlier, 100U);
}

// Our manager allows every victim of an agent (policy/admission/eviction.h): else the agent would ask in vain, again
// and again.
TEST(VictimProperty, ManagerAllowsEveryVictim) {
  Random random(4);
  constexpr std::string_view kQos[] = {"", "LSE", "LSR", "LS", "BE", "SYSTEM"};
  constexpr std::string_view kClasses[] = {"", "koord-prod", "koord-mid", "koord-batch", "koord-free"};
  std::size_t asked = 0;
  for (int round = 0; round < 3000; ++round) {
    const AnyNode node = any_node(random);
    for (const Gap& gap : all_gaps()) {
      for (const TaskSeen& each : node.seen) {
        if (!may_go(each, gap, node.rules()) || each.task->kind != model::TaskKind::kPod) continue;
        const auto pod = Json::parse(cat(R"({"metadata":{"name":"p","uid":"u","labels":{"koordinator.sh/qosClass":")",
                                         kQos[static_cast<std::size_t>(each.task->qos_raw)],
                                         R"(","koordinator.sh/priority-class":")",
                                         kClasses[static_cast<std::size_t>(each.task->priority_raw)],
                                         R"("}},"spec":{"nodeName":"n","containers":[{"name":"c"}]}})"));
        ASSERT_TRUE(pod);
        ASSERT_EQ(admission::refuse_eviction({"n", "u"}, *pod), std::nullopt);
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 1000U);
}

// Online work is no victim of any feature, whatever its labels.
TEST(VictimProperty, OnlineWorkIsNeverEvicted) {
  Random random(5);
  for (int round = 0; round < 3000; ++round) {
    AnyNode node = any_node(random);
    for (model::Task& each : node.tasks) {
      if (each.kind == model::TaskKind::kCopilotTask) each.kind = model::TaskKind::kPod;
      if (each.qos_raw == model::Qos::kBe) each.qos_raw = model::Qos::kLs;
      each.priority_raw = random() % 2 == 0 ? PriorityClass::kProd : PriorityClass::kNone;
      each.eviction_enabled = true;
      each.fixed = false;
    }
    for (const Gap& gap : all_gaps()) ASSERT_TRUE(victims(node.seen, gap, gap.amount, node.rules(), node.now).empty());
  }
}

// The positions of YARN's tasks stay, per source; no other task moves, and none is added or left out.
TEST(AnyVictims, YarnReordersOnlyItsOwnTasks) {
  Random random(5);
  std::size_t moved = 0;
  for (int i = 0; i < 2000; ++i) {
    AnyNode node = any_node(random);
    for (model::Task& each : node.tasks) {
      if (each.kind == model::TaskKind::kCopilotTask && random() % 4 != 0) {
        each.identity.attempt = random() % 2 == 0 ? "a1" : "a2";
      }
    }
    for (const Gap& gap : all_gaps()) {
      VictimRules rules = node.rules();
      const auto ours = victims(node.seen, gap, gap.amount, rules, node.now);
      rules.yarn_preempts = true;
      rules.yarn_by_class = false;
      const auto theirs = victims(node.seen, gap, gap.amount, rules, node.now);
      ASSERT_EQ(ours.size(), theirs.size());
      std::map<std::string, const model::Task*> last, last_of_attempt;
      std::multiset<std::size_t> before, after;
      for (std::size_t at = 0; at < ours.size(); ++at) {
        before.insert(ours[at].task);
        after.insert(theirs[at].task);
        const model::Task& was = *node.seen[ours[at].task].task;
        const model::Task& is = *node.seen[theirs[at].task].task;
        moved += ours[at].task == theirs[at].task ? 0 : 1;
        const bool itself = is_known_cause(ours[at], gap);
        if (itself || was.kind != model::TaskKind::kCopilotTask || was.identity.attempt.empty()) {
          ASSERT_EQ(ours[at], theirs[at]);
          continue;
        }
        ASSERT_EQ(was.identity.source, is.identity.source);
        const model::Task*& sooner = last[is.identity.source];
        if (sooner != nullptr) ASSERT_LE(sooner->infrastructure, is.infrastructure);
        sooner = &is;
        // They are allocated in the order of their numbers.
        const model::Task*& before_it = last_of_attempt[is.identity.source + "/" + is.identity.attempt];
        if (before_it != nullptr && before_it->infrastructure == is.infrastructure) {
          ASSERT_GE(before_it->identity.task, is.identity.task);
        }
        before_it = &is;
      }
      ASSERT_EQ(before, after);
    }
  }
  EXPECT_GT(moved, 50u);
}

TEST(AnyVictims, YarnsChoiceKeepsTheOrderOfClasses) {
  Random random(6);
  std::size_t moved = 0, out_of_turn = 0;
  for (int i = 0; i < 2000; ++i) {
    AnyNode node = any_node(random);
    for (model::Task& each : node.tasks) {
      if (each.kind == model::TaskKind::kCopilotTask && random() % 4 != 0) {
        each.identity.attempt = random() % 2 == 0 ? "a1" : "a2";
        each.identity.source = "yarn";
        each.identity.work_class = random() % 2 == 0 ? "transcode" : "spark";
        each.identity.business.clear();
        each.infrastructure = false;
        each.priority_value = 5000;
        each.sub_priority.reset();
        each.eviction_priority = 0;
      }
    }
    for (const Gap& gap : all_gaps()) {
      VictimRules rules = node.rules();
      const auto ours = victims(node.seen, gap, gap.amount, rules, node.now);
      rules.yarn_preempts = true;
      const auto theirs = victims(node.seen, gap, gap.amount, rules, node.now);
      ASSERT_EQ(ours.size(), theirs.size());
      std::multiset<std::size_t> before, after;
      for (std::size_t at = 0; at < ours.size(); ++at) {
        before.insert(ours[at].task);
        after.insert(theirs[at].task);
        const model::Task& was = *node.seen[ours[at].task].task;
        const model::Task& is = *node.seen[theirs[at].task].task;
        ASSERT_EQ(ours[at].order, theirs[at].order);
        ASSERT_EQ(was.eviction_priority, is.eviction_priority);
        ASSERT_EQ(was.priority_value, is.priority_value);
        moved += ours[at].task == theirs[at].task ? 0 : 1;
        out_of_turn += theirs[at].out_of_turn ? 1 : 0;
        ASSERT_TRUE(!theirs[at].out_of_turn || !is.identity.attempt.empty());
      }
      ASSERT_EQ(before, after);
    }
  }
  EXPECT_GT(moved, 50u);
  EXPECT_GT(out_of_turn, 50u);
}

}  // namespace
}  // namespace tidemark::policy::evict
