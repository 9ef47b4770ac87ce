#include "policy/protect/knobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "base/text.h"

namespace tidemark::policy::protect {
namespace {

using model::Reason;
using model::Strategy;

constexpr std::int64_t kOffline = static_cast<std::int64_t>(CpuPriority::kOffline);
constexpr std::int64_t kPlain = static_cast<std::int64_t>(CpuPriority::kPlain);
constexpr std::int64_t kOnlineLow = static_cast<std::int64_t>(CpuPriority::kOnlineLow);
constexpr std::int64_t kOnline = static_cast<std::int64_t>(CpuPriority::kOnline);

Capabilities kernel_with(std::initializer_list<Knob> knobs) {
  Capabilities out;
  for (const Knob knob : knobs) out.effective.set(static_cast<std::size_t>(knob));
  return out;
}

Capabilities kernel_without(std::initializer_list<Knob> knobs) {
  Capabilities out;
  out.effective.set();
  for (const Knob knob : knobs) out.effective.reset(static_cast<std::size_t>(knob));
  return out;
}

Intent intent(std::string group, Want want, std::int64_t value, Strategy strategy = Strategy::kCpuPriority) {
  return {std::move(group), want, value, {}, strategy, Reason::kPriorityByClass};
}

Intent processors(std::string group, std::vector<std::int32_t> cpus, Strategy strategy = Strategy::kCpuSuppress) {
  return {std::move(group), Want::kCpus, 0, std::move(cpus), strategy, Reason::kSuppressUnderLine};
}

// "group/file=value", in the order of writing.
std::vector<std::string> lines(const Compiled& compiled) {
  std::vector<std::string> out;
  for (const KnobWrite& write : compiled.writes) {
    out.push_back(base::cat(write.group, "/", to_string(write.knob), "="));
    if (write.knob != Knob::kCpusetCpus) out.back() += base::cat(write.value);
    for (const auto cpu : write.cpus) out.back() += base::cat(cpu, ".");
  }
  return out;
}

using Lines = std::vector<std::string>;

// The written priorities with each knob.
Lines priorities(const Capabilities& capabilities) {
  const Intent wanted[] = {intent("a", Want::kCpuPriority, kOffline), intent("b", Want::kCpuPriority, kPlain),
                           intent("c", Want::kCpuPriority, kOnlineLow), intent("d", Want::kCpuPriority, kOnline)};
  const Compiled compiled = compile(wanted, capabilities);
  EXPECT_TRUE(compiled.unmet.empty());
  return lines(compiled);
}

// Contract 7.7: the group identity is the value of bvt, -1 … 2.
TEST(Knobs, BvtTakesThePriorityAsItIs) {
  EXPECT_EQ(priorities(kernel_without({})),
            (Lines{"a/cpu.bvt_warp_ns=-1", "b/cpu.bvt_warp_ns=0", "c/cpu.bvt_warp_ns=1", "d/cpu.bvt_warp_ns=2"}));
}

TEST(Knobs, QosLevelDistinguishesOnlyOffline) {
  EXPECT_EQ(priorities(kernel_without({Knob::kCpuBvt})),
            (Lines{"a/cpu.qos_level=-1", "b/cpu.qos_level=0", "c/cpu.qos_level=0", "d/cpu.qos_level=0"}));
}

TEST(Knobs, IdleDistinguishesOnlyOffline) {
  EXPECT_EQ(priorities(kernel_without({Knob::kCpuBvt, Knob::kCpuQosLevel})),
            (Lines{"a/cpu.idle=1", "b/cpu.idle=0", "c/cpu.idle=0", "d/cpu.idle=0"}));
}

TEST(Knobs, WithOnlyTheWeightChangesOnlyOfflineWork) {
  EXPECT_EQ(priorities(kernel_with({Knob::kCpuShares})), (Lines{"a/cpu.shares=2"}));
}

TEST(Knobs, FirstWorkingKnobIsUsed) {
  EXPECT_EQ(priority_knob(kernel_without({})), Knob::kCpuBvt);
  EXPECT_EQ(priority_knob(kernel_without({Knob::kCpuBvt})), Knob::kCpuQosLevel);
  EXPECT_EQ(priority_knob(kernel_with({Knob::kCpuIdle, Knob::kCpuShares})), Knob::kCpuIdle);
  EXPECT_EQ(priority_knob(kernel_with({Knob::kCpuShares, Knob::kCpuQuota})), std::nullopt);
}

TEST(Knobs, ReportsOfflineWorkIfNotEvenTheWeightWorks) {
  const Intent wanted[] = {intent("a", Want::kCpuPriority, kOnline), intent("b", Want::kCpuPriority, kOffline)};
  const Compiled compiled = compile(wanted, kernel_with({}));
  EXPECT_TRUE(compiled.writes.empty());
  EXPECT_EQ(compiled.unmet, (std::vector<Unmet>{{1, Reason::kKnobMissing}}));
}

// linux/cgroup/write_test.cc: AnIdleGroupHasNoSharesToSet, AnIdleGroupHasNoWeightToSet.
TEST(Knobs, IdleCgroupGetsNoWeight) {
  const Intent wanted[] = {
      intent("be", Want::kCpuShares, 512, Strategy::kBatchLimits), intent("be", Want::kCpuPriority, kOffline),
      intent("ls", Want::kCpuShares, 512, Strategy::kBatchLimits), intent("ls", Want::kCpuPriority, kPlain)};
  const Compiled compiled = compile(wanted, kernel_without({Knob::kCpuBvt, Knob::kCpuQosLevel}));
  EXPECT_EQ(lines(compiled), (Lines{"be/cpu.idle=1", "ls/cpu.shares=512", "ls/cpu.idle=0"}));
  EXPECT_EQ(compiled.unmet, (std::vector<Unmet>{{0, Reason::kKnobOutranked}}));
}

TEST(Knobs, OnlyAWrittenIdleRemovesTheWeight) {
  const Intent wanted[] = {intent("be", Want::kCpuPriority, kOffline, Strategy::kClassWeights),  // outranked
                           intent("be", Want::kCpuPriority, kPlain, Strategy::kCpuPriority),
                           intent("be", Want::kCpuShares, 512, Strategy::kBatchLimits)};
  const Compiled compiled = compile(wanted, kernel_with({Knob::kCpuIdle, Knob::kCpuShares}));
  EXPECT_EQ(lines(compiled), (Lines{"be/cpu.shares=512", "be/cpu.idle=0"}));
  EXPECT_EQ(compiled.unmet, (std::vector<Unmet>{{0, Reason::kKnobOutranked}}));
}

TEST(Knobs, OtherKnobsKeepTheWeight) {
  const Intent wanted[] = {intent("be", Want::kCpuPriority, kOffline),
                           intent("be", Want::kCpuShares, 512, Strategy::kBatchLimits)};
  EXPECT_EQ(lines(compile(wanted, kernel_without({}))), (Lines{"be/cpu.shares=512", "be/cpu.bvt_warp_ns=-1"}));
  EXPECT_EQ(lines(compile(wanted, kernel_without({Knob::kCpuBvt}))),
            (Lines{"be/cpu.shares=512", "be/cpu.qos_level=-1"}));
}

// The weight for a priority and the weight for batch resources are one file.
TEST(Knobs, WithOnlyTheWeightBatchLimitsOwnIt) {
  const Intent wanted[] = {intent("be", Want::kCpuPriority, kOffline), intent("be/pod", Want::kCpuPriority, kOffline),
                           intent("be/pod", Want::kCpuShares, 512, Strategy::kBatchLimits)};
  const Compiled compiled = compile(wanted, kernel_with({Knob::kCpuShares}));
  EXPECT_EQ(lines(compiled), (Lines{"be/cpu.shares=2", "be/pod/cpu.shares=512"}));
  EXPECT_EQ(compiled.unmet, (std::vector<Unmet>{{1, Reason::kKnobOutranked}}));
}

TEST(Knobs, FirstStrategyOwnsTheFile) {
  const auto strategies = model::kStrategies;
  for (std::size_t first = 0; first < strategies.size(); ++first) {
    for (std::size_t second = first + 1; second < strategies.size(); ++second) {
      const Intent wanted[] = {intent("be", Want::kCpuQuota, 1000, strategies[second]),
                               intent("be", Want::kCpuQuota, 9000, strategies[first])};
      const Compiled compiled = compile(wanted, kernel_without({}));
      EXPECT_EQ(lines(compiled), (Lines{"be/cpu.cfs_quota_us=9000"}));
      ASSERT_EQ(compiled.writes.size(), 1u);
      EXPECT_EQ(compiled.writes[0].strategy, strategies[first]);
      EXPECT_EQ(compiled.unmet, (std::vector<Unmet>{{0, Reason::kKnobOutranked}}));
    }
  }
}

TEST(Knobs, ReportsMissingFile) {
  const std::pair<Intent, Knob> each[] = {
      {intent("g", Want::kCpuQuota, 5000), Knob::kCpuQuota}, {processors("g", {0}), Knob::kCpusetCpus},
      {intent("g", Want::kCpuShares, 5), Knob::kCpuShares},  {intent("g", Want::kMemoryLimit, 5), Knob::kMemoryLimit},
      {intent("g", Want::kMemoryMin, 5), Knob::kMemoryMin},  {intent("g", Want::kMemoryLow, 5), Knob::kMemoryLow}};
  for (const auto& [wanted, knob] : each) {
    EXPECT_EQ(compile({&wanted, 1}, kernel_with({knob})).writes.size(), 1u) << to_string(knob);
    const Compiled without = compile({&wanted, 1}, kernel_without({knob}));
    EXPECT_TRUE(without.writes.empty()) << to_string(knob);
    EXPECT_EQ(without.unmet, (std::vector<Unmet>{{0, Reason::kKnobMissing}})) << to_string(knob);
  }
}

// Contract 7.2: shares valid 2..262144; a quota <1000 → 1000; −1 means no quota.
TEST(Knobs, ClampsValuesToTheKernelsRange) {
  const Capabilities all = kernel_without({});
  const auto written = [&](Want want, std::int64_t value) {
    const Intent wanted = intent("g", want, value);
    const Compiled compiled = compile({&wanted, 1}, all);
    return compiled.writes.size() == 1 ? compiled.writes[0].value : -100;
  };
  EXPECT_EQ(written(Want::kCpuShares, 0), 2);
  EXPECT_EQ(written(Want::kCpuShares, 262'145), 262'144);
  EXPECT_EQ(written(Want::kCpuQuota, 0), 1000) << "0 becomes the least quota, never no limit";
  EXPECT_EQ(written(Want::kCpuQuota, 999), 1000);
  EXPECT_EQ(written(Want::kCpuQuota, 1001), 1001);
  EXPECT_EQ(written(Want::kCpuQuota, kNoLimit), kNoLimit);
  EXPECT_EQ(written(Want::kMemoryLimit, kNoLimit), kNoLimit);
  EXPECT_EQ(written(Want::kMemoryLimit, 0), 0);
}

TEST(Knobs, WritesCpusInOrderAndUnique) {
  const Intent wanted[] = {processors("g", {3, 1, 3, 0})};
  EXPECT_EQ(lines(compile(wanted, kernel_without({}))), (Lines{"g/cpuset.cpus=0.1.3."}));
}

TEST(Knobs, ReportsInvalidIntent) {
  const Intent wanted[] = {processors("a", {}),
                           processors("a", {-1, 0}),
                           intent("a", Want::kCpuQuota, -2),
                           intent("a", Want::kCpuShares, -1),
                           intent("a", Want::kMemoryLimit, std::numeric_limits<std::int64_t>::min()),
                           intent("a", Want::kCpuPriority, 3),
                           intent("a", Want::kCpuPriority, -2),
                           intent("a", static_cast<Want>(99), 0)};
  const Compiled compiled = compile(wanted, kernel_without({}));
  EXPECT_TRUE(compiled.writes.empty());
  ASSERT_EQ(compiled.unmet.size(), std::size(wanted));
  for (std::size_t at = 0; at < std::size(wanted); ++at) {
    EXPECT_EQ(compiled.unmet[at], (Unmet{at, Reason::kKnobRefused})) << at;
  }
}

TEST(Knobs, EachHasItsName) {
  std::set<std::string_view> names;
  for (std::size_t at = 0; at < kKnobs; ++at) names.insert(to_string(static_cast<Knob>(at)));
  EXPECT_EQ(names.size(), kKnobs);
  EXPECT_FALSE(names.contains("unknown"));
}

class AnyIntents : public ::testing::TestWithParam<int> {
 protected:
  std::mt19937_64 random{static_cast<std::uint64_t>(GetParam())};

  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random() % values.size()];
  }
  Intent draw() {
    Intent out;
    out.group = one_of<std::string>({"", "be", "be/pod", "be/pod/a-container-with-a-long-name", "ls"});
    out.want = static_cast<Want>(random() % 7);
    out.value =
        one_of<std::int64_t>({-2, -1, 0, 1, 2, 3, 999, 1024, 262'145, std::numeric_limits<std::int64_t>::max()});
    for (int left = static_cast<int>(random() % 4); left > 0; --left) {
      out.cpus.push_back(static_cast<std::int32_t>(random() % 5) - 1);
    }
    out.strategy = model::kStrategies[random() % model::kStrategies.size()];
    out.reason = one_of({Reason::kSuppressUnderLine, Reason::kLimitFromBatch, Reason::kPriorityByClass});
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Knobs, AnyIntents, ::testing::Range(0, 300));

// Whether `write` may result from `intent`: its cgroup, strategy and reason, and a value that the header allows.
bool comes_of(const KnobWrite& write, const Intent& intent) {
  if (write.group != intent.group || write.strategy != intent.strategy || write.reason != intent.reason) return false;
  switch (write.knob) {
    case Knob::kCpuShares:
      if (intent.want == Want::kCpuPriority) return intent.value == kOffline && write.value == 2;
      return intent.want == Want::kCpuShares &&
             write.value == std::min<std::int64_t>(std::max<std::int64_t>(intent.value, 2), 262'144);
    case Knob::kCpuQuota:
      return intent.want == Want::kCpuQuota &&
             (write.value == intent.value || (intent.value >= 0 && intent.value < 1000 && write.value == 1000));
    case Knob::kCpuIdle:
      return intent.want == Want::kCpuPriority && write.value == (intent.value == kOffline ? 1 : 0);
    case Knob::kCpuBvt:
      return intent.want == Want::kCpuPriority && write.value == intent.value;
    case Knob::kCpuQosLevel:
      return intent.want == Want::kCpuPriority && write.value == (intent.value == kOffline ? -1 : 0);
    case Knob::kCpusetCpus:
      return intent.want == Want::kCpus &&
             std::set(write.cpus.begin(), write.cpus.end()) == std::set(intent.cpus.begin(), intent.cpus.end());
    case Knob::kMemoryLimit:
      return intent.want == Want::kMemoryLimit && write.value == intent.value;
    case Knob::kMemoryMin:
      return intent.want == Want::kMemoryMin && write.value == intent.value;
    case Knob::kMemoryLow:
      return intent.want == Want::kMemoryLow && write.value == intent.value;
  }
  return false;
}

TEST_P(AnyIntents, EachWriteHasAnIntentAndNoFileIsWrittenTwice) {
  std::vector<Intent> intents;
  for (std::size_t left = random() % 40; left > 0; --left) intents.push_back(draw());
  Capabilities capabilities;
  capabilities.effective = random();
  const Compiled compiled = compile(intents, capabilities);

  std::map<std::pair<std::string, Knob>, std::int64_t> files;
  for (const KnobWrite& write : compiled.writes) {
    EXPECT_TRUE(capabilities.has(write.knob)) << to_string(write.knob);
    EXPECT_TRUE(files.emplace(std::pair(write.group, write.knob), write.value).second) << "a file is written twice";
    EXPECT_TRUE(std::ranges::any_of(intents, [&](const Intent& one) { return comes_of(write, one); }));
  }
  for (const auto& [file, value] : files) {
    if (file.second != Knob::kCpuIdle || value != 1) continue;
    EXPECT_FALSE(files.contains({file.first, Knob::kCpuShares})) << "the kernel refuses the weight of an idle group";
  }
  const auto file_of = [](const KnobWrite& write) { return std::pair(write.group, write.knob); };
  EXPECT_TRUE(std::ranges::is_sorted(compiled.writes, {}, file_of));
  EXPECT_TRUE(std::ranges::is_sorted(compiled.unmet, {}, &Unmet::intent));

  // Each intent is written, reported, or needs nothing on this kernel.
  std::set<std::size_t> told;
  for (const Unmet& one : compiled.unmet) EXPECT_TRUE(told.insert(one.intent).second) << "reported twice";
  const bool by_weight = !priority_knob(capabilities);
  for (std::size_t at = 0; at < intents.size(); ++at) {
    const bool written =
        std::ranges::any_of(compiled.writes, [&](const auto& one) { return comes_of(one, intents[at]); });
    const bool nothing = by_weight && intents[at].want == Want::kCpuPriority && intents[at].value >= kPlain;
    EXPECT_TRUE(written || nothing || told.contains(at)) << at;
  }
}

TEST_P(AnyIntents, TheOrderOfTheListDoesNotMatter) {
  std::vector<Intent> intents;
  for (std::size_t left = random() % 40; left > 0; --left) intents.push_back(draw());
  Capabilities capabilities;
  capabilities.effective = random();
  const Compiled compiled = compile(intents, capabilities);

  std::vector<std::size_t> order(intents.size());
  for (std::size_t at = 0; at < order.size(); ++at) order[at] = at;
  std::ranges::shuffle(order, random);
  std::vector<Intent> shuffled;
  for (const std::size_t at : order) shuffled.push_back(intents[at]);
  const Compiled again = compile(shuffled, capabilities);

  EXPECT_EQ(again.writes, compiled.writes);
  // Of two equal intents either may be the reported one.
  const auto told = [](const std::vector<Intent>& list, const Compiled& from, Reason reason) {
    std::vector<std::string> out;
    for (const Unmet& one : from.unmet) {
      if (one.reason == reason)
        out.push_back(base::cat(list[one.intent].group, static_cast<int>(list[one.intent].want)));
    }
    std::ranges::sort(out);
    return out;
  };
  for (const Reason reason : {Reason::kKnobMissing, Reason::kKnobOutranked, Reason::kKnobRefused}) {
    EXPECT_EQ(told(shuffled, again, reason), told(intents, compiled, reason));
  }
}

// With more capabilities no intent becomes unmet that was met, except for weights of a cgroup that becomes idle.
TEST_P(AnyIntents, MoreCapabilitiesLeaveNoMoreUnmet) {
  std::vector<Intent> intents;
  for (std::size_t left = random() % 40; left > 0; --left) intents.push_back(draw());
  Capabilities less;
  less.effective = random();
  Capabilities more = less;
  more.effective |= std::bitset<kKnobs>(random());
  const auto missing = [&](const Capabilities& capabilities) {
    return std::ranges::count(compile(intents, capabilities).unmet, Reason::kKnobMissing, &Unmet::reason);
  };
  EXPECT_LE(missing(more), missing(less));
}

}  // namespace
}  // namespace tidemark::policy::protect
