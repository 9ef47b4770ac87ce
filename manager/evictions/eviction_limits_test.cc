// What the limits of jobs and pools let node agents evict.
#include "manager/evictions/eviction_limits.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/clock.h"
#include "base/text.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;
using policy::EvictionDenial;

class EvictionLimitsTest : public ::testing::Test {
 protected:
  std::string evict(std::string_view job, std::string_view node = "n1") {
    return evict_pod(cat("p", ++pods_), job, node);
  }
  std::string evict_pod(std::string_view pod, std::string_view job, std::string_view node = "n1") {
    const auto refused = limits_.take(cat(R"({"metadata":{"namespace":"team","name":")", pod, R"(","uid":"u-)", pod,
                                          R"(","labels":{"tidemark.io/job":")", job, R"("}},"spec":{"nodeName":")",
                                          node, R"(","containers":[{"name":"c"}]}})"));
    if (refused) EXPECT_EQ(refused->http_code, 429);
    return refused ? cat(policy::to_string(refused->why), ": ", refused->found, "; ", refused->wanted) : "goes";
  }
  // Its status said so, and the watch brought it.
  void is_counted(std::string_view job) {
    policy::count(book_, {"night", "", cat("team/", job), true}, clock_.wall(), clock_.wall());
  }

  int pods_ = 0;
  base::testing::Clock clock_;
  kube::Interner interner_;
  policy::EvictionBook book_;
  policy::BudgetState state_;
  std::int64_t job_per_hour_ = 3;
  EvictionLimits limits_{{clock_, interner_, [this]() -> const policy::EvictionBook& { return book_; },
                          [this]() -> const policy::BudgetState& { return state_; },
                          [this](std::string_view node, std::string_view) -> std::optional<policy::BudgetPool> {
                            if (node == "elsewhere") return std::nullopt;
                            policy::BudgetPool pool{"night", {}, false};
                            pool.settings.job_per_hour = job_per_hour_;
                            return pool;
                          }}};
};

TEST_F(EvictionLimitsTest, AJobLosesNoMoreThanItMayWithinAnHour) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(evict("sort"), "goes");
    is_counted("sort");
    clock_.advance(1min);
  }
  EXPECT_EQ(evict("sort"), "JobBudget: team/sort was evicted 3 times within the hour; 3");
  EXPECT_EQ(evict("other"), "goes") << "each job has its own";
  clock_.advance(70min);
  EXPECT_EQ(evict("sort"), "goes") << "hours slide";
}

TEST_F(EvictionLimitsTest, NodesThatAskWithinAMomentDoNotPassALimitTogether) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(evict("sort", cat("n", i)), "goes");
  EXPECT_EQ(evict("sort", "n4").substr(0, 9), "JobBudget") << "none of them is counted yet";
  is_counted("sort");
  is_counted("sort");
  clock_.advance(5s);
  EXPECT_EQ(evict("sort", "n4").substr(0, 9), "JobBudget") << "two are counted, one is on its way";
  clock_.advance(kEvictionCounted);
  EXPECT_EQ(evict("sort", "n4"), "goes") << "the third never happened";
}

TEST_F(EvictionLimitsTest, WhatIsCountedAtOnceDoesNotCountTwice) {
  job_per_hour_ = 2;
  EXPECT_EQ(evict("sort"), "goes");
  is_counted("sort");
  EXPECT_EQ(evict("sort"), "goes") << "the first is one, not two";
  EXPECT_EQ(evict("sort").substr(0, 9), "JobBudget");
}

// Its agent heard no answer, or the API server asks again: one eviction, and the limit leaves the others what is
// theirs.
TEST_F(EvictionLimitsTest, OnePodThatIsAskedForAgainCountsOnce) {
  job_per_hour_ = 2;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(evict_pod("mine", "sort"), "goes") << i;
  EXPECT_EQ(evict_pod("other", "sort"), "goes") << "the second of two";
  EXPECT_EQ(evict_pod("third", "sort").substr(0, 9), "JobBudget");
  EXPECT_EQ(evict_pod("mine", "sort"), "goes") << "it was let through";
  is_counted("sort");
  is_counted("sort");
  clock_.advance(kEvictionCounted);
  EXPECT_EQ(evict_pod("mine", "sort").substr(0, 9), "JobBudget") << "that one is over";
}

TEST_F(EvictionLimitsTest, AJobThatWasEvictedOftenMayLoseLess) {
  job_per_hour_ = 3;
  for (int i = 0; i < 16; ++i) is_counted("old");
  clock_.advance(3h);
  EXPECT_EQ(evict("old"), "goes");
  EXPECT_EQ(evict("old"), "JobBudget: team/old was evicted 1 times within the hour; 1");
}

TEST_F(EvictionLimitsTest, APoolThatLostAllThatItMayLosesNoMore) {
  state_.pools.push_back({"night", {}, {}, true, {}});
  EXPECT_EQ(evict("sort"), "PoolBudget: night; ");
}

TEST_F(EvictionLimitsTest, WhereNobodySetALimitEveryTaskMayGo) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(evict("sort", "elsewhere"), "goes");
}

}  // namespace
}  // namespace tidemark::manager
