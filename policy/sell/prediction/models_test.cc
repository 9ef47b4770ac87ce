#include "policy/sell/prediction/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/sell/prediction/checkpoint.h"

namespace tidemark::policy::sell {
namespace {

using base::WallTime;
using model::PriorityClass;
using std::chrono::hours;
using std::chrono::minutes;

constexpr WallTime kModelsBegin{hours(24 * 20'000)};
constexpr std::int64_t kGi = std::int64_t{1} << 30;

const UsageFigures kWeb{1'000'000, 2 * kGi};  // told as 1035 milli-cores and 2162529934 bytes
const UsageFigures kNode{1'500'000, 3 * kGi};

void pass(UsageModels& models, WallTime now, std::string_view uid = "web", const UsageFigures& use = kWeb) {
  const TrainingPod pod{uid, PriorityClass::kProd, use};
  models.train({kNode, {&pod, 1}}, now);
}

TEST(UsageModels, OneForEachPodAndSevenForTheNode) {
  UsageModels models;
  pass(models, kModelsBegin);
  EXPECT_EQ(models.size(), 8U);
  EXPECT_EQ(models.peak("web"), (ModelPeak{{{1035}, {2162529934}}}));
  EXPECT_EQ(models.peak("__node-koord-prod__"), models.peak("web"));
  EXPECT_EQ(models.peak("__node-koord-batch__"), (ModelPeak{{{25}, {5242880}}})) << "an idle class is never nothing";
  EXPECT_EQ(models.peak("__node-sys__"), (ModelPeak{{{539}, {1097586419}}}));
  EXPECT_EQ(models.peak("other"), std::nullopt);
  for (const auto priority :
       {PriorityClass::kProd, PriorityClass::kMid, PriorityClass::kBatch, PriorityClass::kFree, PriorityClass::kNone}) {
    EXPECT_TRUE(is_node_model_key(class_model_key(priority)));
    EXPECT_NE(models.find(class_model_key(priority)), nullptr);
  }
  EXPECT_FALSE(is_node_model_key("web"));
}

// What works outside pods may be offline work: then it is no part of the system.
TEST(UsageModels, SystemExcludesReportedYarnContainers) {
  const TrainingPod pod{"web", PriorityClass::kProd, kWeb};
  const UsageFigures node{3'500'000, 7 * kGi};
  UsageModels models;
  models.train({node, {&pod, 1}, {2'000'000, 4 * kGi}}, kModelsBegin);
  EXPECT_EQ(models.peak("__node-sys__"), (ModelPeak{{{539}, {1097586419}}})) << "half a core, one GiB";
  UsageModels more;
  more.train({node, {&pod, 1}, {9'000'000, 9 * kGi}}, kModelsBegin);
  EXPECT_EQ(more.peak("__node-sys__"), (ModelPeak{{{25}, {5242880}}})) << "never less than nothing";
}

TEST(UsageModels, APodWithoutASampleIsNotTrained) {
  UsageModels models;
  const TrainingPod pod{"web", PriorityClass::kProd, std::nullopt};
  models.train({std::nullopt, {&pod, 1}}, kModelsBegin);
  EXPECT_EQ(models.find("web"), nullptr);
  EXPECT_EQ(models.find(kNodeModelKey), nullptr);
  EXPECT_EQ(models.find(kSystemModelKey), nullptr) << "an unmeasured system is not idle";
  EXPECT_EQ(models.size(), 5U);
}

// Contract 7.13: a model unknown for 30 min is dropped.
TEST(UsageModels, DropsWhatIsMissingForHalfAnHour) {
  UsageModels models;
  pass(models, kModelsBegin);
  WallTime now = kModelsBegin;
  for (int i = 0; i < 30; ++i) {
    now = now + kTrainEvery;
    EXPECT_TRUE(models.train({kNode, {}}, now).empty());
  }
  EXPECT_EQ(models.train({kNode, {}}, now + kTrainEvery), std::vector<std::string>{"web"});
  EXPECT_EQ(models.size(), 7U);
}

TEST(UsageModels, ThereIsRoomForSoMany) {
  UsageModels models;
  for (std::size_t i = 0; i < kPodModelsMax + 2; ++i) pass(models, kModelsBegin, base::cat("pod-", i));
  pass(models, kModelsBegin, "a/b");
  pass(models, kModelsBegin, std::string(kModelKeyBytesMax + 1, 'a'));
  EXPECT_EQ(models.size(), kPodModelsMax + 7);
  EXPECT_EQ(models.refused(), 4U);
  // The models of pods that have gone are removed.
  models.train({kNode, {}}, kModelsBegin + minutes(31));
  EXPECT_EQ(models.size(), 7U);
  pass(models, kModelsBegin + minutes(32), "new");
  EXPECT_EQ(models.size(), 8U);
}

TEST(UsageModels, FiftyPodsTakeAFractionOfAMebibyte) {
  UsageModels models;
  std::vector<std::string> uids;
  std::vector<TrainingPod> pods;
  uids.reserve(50);
  pods.reserve(50);
  for (int i = 10; i < 60; ++i) uids.push_back(base::cat("0e1c9f6e-0000-4000-8000-0000000000", i));
  for (const auto& uid : uids) pods.push_back({uid, PriorityClass::kProd, kWeb});
  models.train({kNode, pods}, kModelsBegin);
  EXPECT_LE(models.find(uids[0])->bytes() + sizeof(std::string) + 64, kModelBytesMax);
  EXPECT_LT(models.bytes(), 200U * 1024) << models.bytes();
  EXPECT_GT(models.bytes(), 57U * (158 + 205) * 8);
}

// ---- a clock that is wrong ----

// Two hours of much, then the clock does something, then a quarter of an hour of little: the peak stays.
std::int64_t peak_after(base::Duration jump, std::int64_t passes = 15) {
  UsageModels models;
  WallTime now = kModelsBegin;
  for (int i = 0; i < 120; ++i) pass(models, now = now + kTrainEvery);
  now = now + jump;
  for (std::int64_t i = 0; i < passes; ++i) pass(models, now = now + kTrainEvery, "web", {10'000, kGi});
  return models.peak("web")->peak.cpu.value;
}

TEST(UsageModels, AClockThatIsSetBackCostsNothing) {
  for (const base::Duration jump : {base::Duration(0), base::Duration(-hours(1)), base::Duration(-hours(24 * 365))}) {
    EXPECT_EQ(peak_after(jump), 1035);
    EXPECT_EQ(peak_after(jump, 4'000), 25) << "and what is new is learned as fast as ever";
  }
}

TEST(UsageModels, AClockThatLeapsAheadAgesNoMoreThanAWeek) {
  EXPECT_EQ(peak_after(hours(24)), 1035);
  UsageModels models;
  pass(models, kModelsBegin);
  models.train({kNode, {}}, kModelsBegin + hours(24 * 365 * 10));
  EXPECT_EQ(models.find("web"), nullptr) << "it was not seen since";
  pass(models, kModelsBegin + hours(24 * 365 * 10) + kTrainEvery);
  const auto& node = models.find(kNodeModelKey)->cpu;
  EXPECT_GT(*std::ranges::max_element(node.weights()), 16'000) << "2^14: fourteen half-lives of CPU";
  EXPECT_LT(*std::ranges::max_element(node.weights()), 33'000);
}

// ---- what is stored ----

// Contract 7.13: checkpoints every 10 min, 12 per minute pass.
TEST(UsageModels, TwelveAreStoredInAPassEachEveryTenMinutes) {
  UsageModels models;
  std::vector<std::string> uids;
  std::vector<TrainingPod> pods;
  uids.reserve(50);
  pods.reserve(50);
  for (int i = 10; i < 60; ++i) uids.push_back(base::cat("uid-", i));
  for (const auto& uid : uids) pods.push_back({uid, PriorityClass::kProd, kWeb});
  std::vector<std::size_t> numbers;
  std::multiset<std::string> written;
  WallTime now = kModelsBegin;
  for (int i = 0; i < 15; ++i) {
    now = now + kTrainEvery;
    models.train({kNode, pods}, now);
    const auto keys = models.to_store(now);
    numbers.push_back(keys.size());
    for (const auto& key : keys) {
      models.stored(key, now);
      written.insert(key);
    }
  }
  // 57 models: five passes; from the eleventh minute on each again.
  EXPECT_EQ(numbers, (std::vector<std::size_t>{12, 12, 12, 12, 9, 0, 0, 0, 0, 0, 12, 12, 12, 12, 9}));
  EXPECT_EQ(written.size(), 114U);
  for (const auto& key : written) EXPECT_EQ(written.count(key), 2U);
}

TEST(UsageModels, StoresFailedOnesFirst) {
  UsageModels models;
  pass(models, kModelsBegin);
  const auto keys = models.to_store(kModelsBegin);
  ASSERT_EQ(keys.size(), 8U);
  for (const auto& key : keys) {
    if (key != "web") models.stored(key, kModelsBegin);
  }
  EXPECT_EQ(models.to_store(kModelsBegin + minutes(1)), std::vector<std::string>{"web"});
  EXPECT_EQ(models.to_store(kModelsBegin + minutes(10)).front(), "web");
}

// Twelve new pods a minute, each of which lives for a while, on a node where others stay: batch jobs are like that.
TEST(UsageModels, NewPodsDoNotKeepOldOnesFromBeingStored) {
  UsageModels models;
  WallTime now = kModelsBegin;
  std::vector<std::string> uids;
  WallTime stored = kModelsBegin;
  base::Duration longest{0};
  for (std::size_t minute = 0; minute < 120; ++minute) {
    now = now + kTrainEvery;
    std::vector<TrainingPod> pods{{"web", PriorityClass::kProd, kWeb}};
    for (std::size_t i = 0; i < kStoreMax; ++i) uids.push_back(base::cat("job-", minute, "-", i));
    const std::size_t living = std::min<std::size_t>(uids.size(), 5 * kStoreMax);
    for (std::size_t i = uids.size() - living; i < uids.size(); ++i) {
      pods.push_back({uids[i], PriorityClass::kBatch, kWeb});
    }
    models.train({kNode, pods}, now);
    const auto keys = models.to_store(now);
    ASSERT_EQ(keys.size(), std::min<std::size_t>(kStoreMax, models.size()));
    for (const auto& key : keys) models.stored(key, now);
    longest = std::max<base::Duration>(longest, {now.since_epoch - stored.since_epoch});
    if (std::ranges::find(keys, "web") != keys.end()) stored = now;
  }
  // A model is removed half an hour after its pod: pods of 35 minutes, and seven models of the node. No model waits
  // longer than its interval of ten minutes plus the time to store all models once.
  const auto all = static_cast<std::int64_t>((35 * kStoreMax + 8 + kStoreMax - 1) / kStoreMax);
  EXPECT_LE(longest, kStoreEvery + all * kTrainEvery);
}

TEST(UsageModels, ARestartChangesNothing) {
  UsageModels models;
  WallTime now = kModelsBegin;
  for (std::int64_t i = 0; i < 3'000; ++i) pass(models, now = now + kTrainEvery, "web", {i * 1'000, i << 20});
  UsageModels again;
  for (const auto key : {std::string_view("web"), kNodeModelKey, kSystemModelKey}) {
    const auto read = decode_model(encode_model(models.checkpoint(key, now).value()));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(again.restore(*read, now + minutes(2)));
    EXPECT_FALSE(again.restore(*read, now + minutes(2))) << "it is there";
  }
  for (int i = 0; i < 100; ++i) {
    now = now + kTrainEvery;
    pass(models, now + minutes(2));
    pass(again, now + minutes(2));
  }
  EXPECT_EQ(again.find("web")->cpu, models.find("web")->cpu);
  EXPECT_EQ(again.find("web")->memory, models.find("web")->memory);
  EXPECT_EQ(again.find(kSystemModelKey)->cpu, models.find(kSystemModelKey)->cpu);
  EXPECT_EQ(models.checkpoint("other", now), std::nullopt);
}

TEST(UsageModels, AfterARestartAPodHasHalfAnHourToShowItself) {
  UsageModels models;
  pass(models, kModelsBegin);
  UsageModels again;
  const WallTime now = kModelsBegin + hours(10);
  ASSERT_TRUE(again.restore(models.checkpoint("web", kModelsBegin).value(), now));
  again.train({kNode, {}}, now);
  EXPECT_NE(again.find("web"), nullptr);
  EXPECT_EQ(again.train({kNode, {}}, now + minutes(31)), std::vector<std::string>{"web"});
}

// Whatever the clock did while the agent ran or was down, what was learned is of the past, and not longer ago than a
// week counts.
TEST(UsageModels, ARestartWithAnotherClockCostsNothing) {
  for (const base::Duration jump : {base::Duration(-hours(24 * 365 * 20)), base::Duration(-hours(1)),
                                    base::Duration(hours(24 * 365 * 20)), base::Duration(0)}) {
    UsageModels models;
    WallTime now = kModelsBegin;
    for (int i = 0; i < 60; ++i) pass(models, now = now + kTrainEvery);
    now = now + -hours(48);  // while it runs
    for (int i = 0; i < 60; ++i) pass(models, now = now + kTrainEvery);
    const auto stored = decode_model(encode_model(models.checkpoint("web", now).value()));
    ASSERT_TRUE(stored) << stored.error().message;
    now = now + jump;
    UsageModels again;
    ASSERT_TRUE(again.restore(*stored, now));
    EXPECT_EQ(again.peak("web"), models.peak("web"));
    for (int i = 0; i < 3'000; ++i) pass(again, now = now + kTrainEvery, "web", {10'000, kGi});
    EXPECT_EQ(again.peak("web")->peak.cpu.value, 25) << "what is new is learned as fast as ever";
    EXPECT_TRUE(decode_model(encode_model(again.checkpoint("web", now).value())));
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
