// Plays testdata/gap/*.txt, and checks invariants of gaps. testing/stage.h has the verbs that set the stage; these
// print:
//
//   gaps       each enabled feature, with each of its gaps
//   window     the window of the CPU features
#include "policy/evict/gap.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <set>
#include <tuple>

#include "policy/evict/testing/stage.h"

namespace tidemark::policy::evict {
namespace {

using base::cat;
using model::Reason;

std::string seen_at(std::int64_t seen, std::int64_t line) {
  return cat("seen ", seen, " %, line ", line, " %");
}

std::string gap_line(const Gap& gap) {
  const bool cpu = gap.measure == Measure::kCpuUsed || gap.measure == Measure::kCpuRequested;
  const bool used = gap.measure == Measure::kCpuUsed || gap.measure == Measure::kMemoryUsed;
  if (gap.feature == EvictFeature::kDisk) {
    return cat("> ", to_string(gap.feature), " [", model::reason_id(gap.reason), "] ", gap.amount,
               gap.measure == Measure::kDiskHeld ? " bytes" : " inodes", " of ", to_string(gap.disk), ": free ",
               gap.seen_percent, " %, line ", gap.line_percent, " %, goal ", gap.goal_percent, " %");
  }
  std::string out = cat("> ", to_string(gap.feature), " [", model::reason_id(gap.reason), "] ", gap.amount,
                        cpu ? "m" : " bytes", used ? " in use" : " requested");
  if (gap.oversold != model::PriorityClass::kNone) out += cat(" of ", model::to_string(gap.oversold));
  if (gap.feature == EvictFeature::kReclaim) {
    return cat(out, " by ", gap.work_class.empty() ? "no class" : gap.work_class, ", keeps ", gap.keep);
  }
  return cat(out, ": ", seen_at(gap.seen_percent, gap.line_percent), ", goal ", gap.goal_percent, " %");
}

std::vector<std::string> lines_of(const Gaps& found) {
  std::vector<std::string> out;
  for (const FeatureVerdict& verdict : found.verdicts) {
    bool any = false;
    for (const Gap& gap : found.gaps) {
      if (gap.feature != verdict.feature) continue;
      any = true;
      out.push_back(gap_line(gap));
    }
    if (any) continue;
    std::string line = cat("> ", to_string(verdict.feature), " [", model::reason_id(verdict.reason), "]");
    if (verdict.reason == Reason::kEvictBelowLine) {
      line += cat(" ", seen_at(verdict.seen_percent, verdict.line_percent));
    }
    out.push_back(std::move(line));
  }
  if (out.empty()) out.emplace_back("> nothing");
  return out;
}

class GapScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    testing::Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "gaps") {
      answers = lines_of(node_.gaps());
    } else if (verb == "window") {
      answers = {cat("> ", base::format_go_duration(cpu_window(node_.rules.threshold)))};
    } else if (!node_.take(verb, words)) {
      throw std::runtime_error(cat("unknown verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  testing::EvictNode node_;
};

using Random = std::mt19937_64;

TEST(GapScenarios, IsWhatTheFilesSay) {
  testing::play_scenarios("policy/evict/testdata/gap", 6, [] {
    auto scenario = std::make_shared<GapScenario>();
    return [scenario](std::string_view line) { return scenario->run(line); };
  });
}

TEST(EvictFeature, HasKoordinatorsNames) {
  // Contract 7.1, 7.4: Koordinator's gates, which `koordinator.sh/eviction-policy` names as well.
  constexpr std::string_view kNames[] = {
      "BECPUEvict",  "BEMemoryEvict", "CPUAllocatableEvict", "MemoryAllocatableEvict",
      "CPUEvict",    "MemoryEvict",   "MemoryPressureEvict", "DiskEvict",
      "ReclaimEvict"};
  ASSERT_EQ(std::size(kNames), kEvictFeatures);
  for (std::size_t i = 0; i < kEvictFeatures; ++i) {
    const auto feature = static_cast<EvictFeature>(i);
    EXPECT_EQ(to_string(feature), kNames[i]);
    EXPECT_EQ(parse_evict_feature(kNames[i]), feature);
  }
  EXPECT_EQ(parse_evict_feature("becpuevict"), std::nullopt);
  EXPECT_EQ(parse_evict_feature(""), std::nullopt);
}

TEST(CpuWindow, IsBounded) {
  protect::ThresholdRules rules;
  for (const std::int64_t wild : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
    rules.cpu_evict_window_s = wild;
    EXPECT_EQ(cpu_window(rules), wild < 0 ? base::Duration(std::chrono::seconds(1)) : kCpuWindowMax);
  }
}

// ---- any node ----

std::int64_t any_number(Random& random, std::int64_t below) {
  constexpr std::int64_t kWild[] = {0, -1, 1, INT64_MAX, INT64_MIN, 100, 999};
  if (random() % 10 == 0) return kWild[random() % std::size(kWild)];
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
}

std::optional<std::int64_t> maybe(Random& random, std::int64_t below) {
  if (random() % 6 == 0) return std::nullopt;
  return any_number(random, below);
}

template <class Unit>
std::optional<Unit> amount(std::optional<std::int64_t> value) {
  return value.transform([](std::int64_t each) { return Unit{each}; });
}

using model::CpuMilli;
using model::MemoryBytes;
using model::PriorityClass;

struct GapAnyNode {
  NodeSeen node;
  std::vector<model::Task> tasks;
  std::vector<TaskSeen> seen;
  protect::NodeRules rules;
  EvictSwitches switches;

  Gaps gaps() const { return gaps_of(node, seen, rules, switches); }
};

std::optional<OfflineCpu> any_offline(Random& random) {
  if (random() % 8 == 0) return std::nullopt;
  return OfflineCpu{
      {any_number(random, 20'000)}, {any_number(random, 60'000)}, amount<CpuMilli>(maybe(random, 20'000))};
}

protect::ThresholdRules any_rules(Random& random) {
  protect::ThresholdRules rules;
  rules.enable = random() % 12 != 0;
  rules.memory_evict_percent = any_number(random, 101);
  rules.memory_evict_lower_percent = maybe(random, 101);
  rules.memory_allocatable_evict_percent = maybe(random, 200);
  rules.memory_allocatable_evict_lower_percent = maybe(random, 100);
  rules.cpu_evict_satisfaction_upper_percent = maybe(random, 101);
  rules.cpu_evict_satisfaction_lower_percent = maybe(random, 61);
  rules.cpu_evict_usage_percent = maybe(random, 101);
  rules.cpu_evict_percent = maybe(random, 101);
  rules.cpu_evict_lower_percent = maybe(random, 101);
  rules.cpu_allocatable_evict_percent = maybe(random, 200);
  rules.cpu_allocatable_evict_lower_percent = maybe(random, 100);
  rules.cpu_evict_policy =
      random() % 2 == 0 ? protect::CpuEvictPolicy::kByRealLimit : protect::CpuEvictPolicy::kByAllocatable;
  rules.evict_priority = maybe(random, 10'000);
  rules.allocatable_evict_priority = maybe(random, 9'000);
  return rules;
}

std::optional<model::DiskSeen> any_disk(Random& random) {
  if (random() % 4 == 0) return std::nullopt;
  return model::DiskSeen{any_number(random, 1'000'000), any_number(random, 500'000), any_number(random, 1'000'000),
                         any_number(random, 500'000)};
}

GapAnyNode any_node(Random& random) {
  GapAnyNode out;
  out.node.capacity = {{any_number(random, 64'000)}, {any_number(random, 1'000'000)}};
  out.node.cpu = amount<CpuMilli>(maybe(random, 64'000));
  out.node.cpu_in_window = amount<CpuMilli>(maybe(random, 64'000));
  out.node.memory = amount<MemoryBytes>(maybe(random, 1'000'000));
  out.node.offline = any_offline(random);
  out.node.offline_in_window = any_offline(random);
  out.node.memory_pressure_percent = maybe(random, 101);
  for (auto& disk : out.node.disks) disk = any_disk(random);
  for (auto left = random() % 6; left > 0; --left) {
    out.node.offered.push_back({static_cast<PriorityClass>(random() % 5), amount<CpuMilli>(maybe(random, 300'000)),
                                amount<MemoryBytes>(maybe(random, 300'000))});
  }
  out.tasks = testing::any_tasks(random);
  for (model::Task& each : out.tasks) {
    each.priority_raw = static_cast<PriorityClass>(random() % 5);
    each.priority = model::priority_class_with_default(each.priority_raw, each.qos);
    each.priority_value = model::default_priority(each.priority);
    if (random() % 3 == 0) each.requests.native.cpu = CpuMilli{any_number(random, 300'000)};
  }
  for (const model::Task& each : out.tasks) out.seen.push_back({&each, {}, {}});
  if (random() % 6 == 0) out.seen.push_back({});
  out.rules.threshold = any_rules(random);
  model::EvictSettings& settings = out.rules.word.emplace().evict;
  if (random() % 4 != 0) settings.memory_pressure_percent = any_number(random, 101);
  settings.disk_free_percent = maybe(random, 95);
  settings.inodes_free_percent = maybe(random, 95);
  for (const char* name : {"", "transcode", "spark"}) {
    if (random() % 2 == 0) continue;
    const model::Resources keep{{any_number(random, 300'000)}, {any_number(random, 300'000)}};
    out.rules.reclaim.push_back({name, {}, keep, random() % 2 == 0 ? "TM-LEDGER-009" : "TM-STATE-027"});
  }
  out.switches.on = static_cast<std::uint32_t>(random());
  return out;
}

// What distinguishes the gaps of one step.
using Which = std::tuple<EvictFeature, PriorityClass, model::Disk, Measure, std::string>;
Which which(const Gap& gap) {
  return {gap.feature, gap.oversold, gap.disk, gap.measure, gap.work_class};
}

TEST(GapProperty, IsTotalAndPositive) {
  Random random(1);
  std::set<EvictFeature> seen;
  for (int round = 0; round < 10'000; ++round) {
    const GapAnyNode node = any_node(random);
    const Gaps found = node.gaps();
    if (!node.rules.threshold.enable) {
      for (const FeatureVerdict& each : found.verdicts) {
        ASSERT_EQ(each.feature, EvictFeature::kReclaim) << "an order, and no line";
      }
    }
    ASSERT_TRUE(std::ranges::is_sorted(found.gaps, {}, &Gap::feature));
    std::set<Which> each_once;
    for (const Gap& gap : found.gaps) {
      ASSERT_GT(gap.amount, 0);
      ASSERT_GE(gap.seen_percent, 0);
      ASSERT_LE(gap.seen_percent, kSeenPercentMax);
      ASSERT_GE(gap.goal_percent, 0);
      ASSERT_TRUE(each_once.insert(which(gap)).second);
      seen.insert(gap.feature);
    }
    std::set<EvictFeature> told;
    for (const FeatureVerdict& verdict : found.verdicts) {
      ASSERT_TRUE(node.switches.has(verdict.feature));
      ASSERT_TRUE(told.insert(verdict.feature).second);
      const auto its = std::ranges::find(found.gaps, verdict.feature, &Gap::feature);
      const bool any = its != found.gaps.end();
      const bool none = verdict.reason == Reason::kEvictBelowLine || verdict.reason == Reason::kEvictNotMeasured ||
                        verdict.reason == Reason::kEvictUnfit;
      ASSERT_NE(any, none);
      if (any) {
        ASSERT_EQ(verdict, (FeatureVerdict{its->feature, its->reason, its->seen_percent, its->line_percent}));
      }
    }
    for (const Gap& gap : found.gaps) ASSERT_TRUE(told.contains(gap.feature));
  }
  EXPECT_EQ(seen.size(), kEvictFeatures) << "each of them was seen";
}

// A gap of use never exceeds the use: percents are rounded down, and no target is below 0.
TEST(GapProperty, NeverExceedsTheUse) {
  Random random(2);
  for (int round = 0; round < 10'000; ++round) {
    const GapAnyNode node = any_node(random);
    for (const Gap& gap : node.gaps().gaps) {
      if (gap.feature == EvictFeature::kCpu) {
        ASSERT_LE(gap.amount, node.node.cpu_in_window->value);
      }
      if (gap.feature == EvictFeature::kMemory || gap.feature == EvictFeature::kBeMemory) {
        ASSERT_LE(gap.amount, node.node.memory->value);
      }
      if (gap.feature != EvictFeature::kDisk) continue;
      const model::DiskSeen& disk = *node.node.disks[static_cast<std::size_t>(gap.disk)];
      const bool bytes = gap.measure == Measure::kDiskHeld;
      ASSERT_LE(gap.amount, bytes ? disk.bytes : disk.inodes);
      ASSERT_LE(gap.amount + std::max<std::int64_t>(bytes ? disk.bytes_free : disk.inodes_free, 0),
                bytes ? disk.bytes : disk.inodes);
    }
  }
}

std::int64_t missing(const Gaps& found, const Gap& like) {
  for (const Gap& gap : found.gaps) {
    if (which(gap) == which(like)) return gap.amount;
  }
  return 0;
}

void expect_no_less(const Gaps& less, const Gaps& more) {
  for (const Gap& gap : less.gaps) ASSERT_GE(missing(more, gap), gap.amount);
}

// More use or requests never make a gap smaller.
TEST(GapProperty, MoreUseNeverLowersAGap) {
  Random random(3);
  for (int round = 0; round < 10'000; ++round) {
    GapAnyNode node = any_node(random);
    const Gaps less = node.gaps();
    const auto more = [&] { return static_cast<std::int64_t>(random() % 20'000); };
    const auto grow = [&](auto& amount) {
      if (amount) *amount += std::remove_cvref_t<decltype(*amount)>{more()};
    };
    grow(node.node.cpu_in_window);
    grow(node.node.memory);
    for (auto* offline : {&node.node.offline, &node.node.offline_in_window}) {
      if (!*offline) continue;
      (*offline)->used += CpuMilli{more()};
      (*offline)->request += CpuMilli{more()};
    }
    if (node.node.memory_pressure_percent && *node.node.memory_pressure_percent < INT64_MAX - 100) {
      *node.node.memory_pressure_percent += more() % 100;
    }
    for (auto& disk : node.node.disks) {
      if (!disk) continue;
      disk->bytes_free = std::max<std::int64_t>(disk->bytes_free, INT64_MIN / 2) - more();
      disk->inodes_free = std::max<std::int64_t>(disk->inodes_free, INT64_MIN / 2) - more();
    }
    for (model::Task& each : node.tasks) {
      grow(each.requests.batch.cpu);
      grow(each.requests.batch.memory);
      grow(each.requests.mid.cpu);
      grow(each.requests.native.cpu);
    }
    ASSERT_NO_FATAL_FAILURE(expect_no_less(less, node.gaps())) << "round " << round;
  }
}

}  // namespace
}  // namespace tidemark::policy::evict
