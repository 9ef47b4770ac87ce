// What the limits of jobs and pools let node agents evict.
#include "manager/evictions/eviction_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/clock.h"
#include "base/text.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;
using policy::admission::EvictionDenial;

class EvictionLimitsTest : public ::testing::Test {
 protected:
  std::string evict(std::string_view job, std::string_view node = "n1") {
    return evict_pod(cat("p", ++pods_), job, node);
  }
  std::string evict_pod(std::string_view pod, std::string_view job, std::string_view node = "n1") {
    const std::string object = cat(R"({"metadata":{"namespace":"team","name":")", pod, R"(","uid":"u-)", pod,
                                   R"(","labels":{"tidemark.io/job":")", job, R"("}},"spec":{"nodeName":")", node,
                                   R"(","containers":[{"name":"c"}]}})");
    const auto refused = limits_.take(object);
    if (refused) {
      EXPECT_EQ(refused->http_code, 429);
      return cat(to_string(refused->why), ": ", refused->found, "; ", refused->wanted);
    }
    auto& let = let_[std::string(job)];
    if (std::ranges::find(let, object) == let.end()) let.push_back(object);
    return "goes";
  }
  // The watch brings the status of the first pod of that job that was let through. If none was, another program evicted
  // one.
  void is_counted(std::string_view job) {
    policy::evict::count(book_, {"night", "", cat("team/", job), true}, clock_.wall(), clock_.wall());
    auto& let = let_[std::string(job)];
    if (let.empty()) return;
    limits_.seen(*decode_pod_end(let.front(), interner_));
    let.erase(let.begin());
  }

  // What is said where the pool is at its limit, neither above nor below.
  std::string pool_is_full() const {
    return cat("PoolBudget: night has ", *pool_per_hour_, *pool_per_hour_ == 1 ? " eviction" : " evictions",
               " within the hour, those on their way counted; ", *pool_per_hour_);
  }

  int pods_ = 0;
  base::testing::Clock clock_;
  kube::Interner interner_;
  policy::evict::EvictionBook book_;
  policy::evict::BudgetState state_;
  std::int64_t job_per_hour_ = 3;
  std::optional<std::int64_t> pool_per_hour_;
  std::map<std::string, std::vector<std::string>> let_;  // by job: pods that were let through and are not counted
  EvictionLimits limits_{{clock_, interner_, [this]() -> const policy::evict::EvictionBook& { return book_; },
                          [this]() -> const policy::evict::BudgetState& { return state_; },
                          [this](std::string_view node, std::string_view) -> std::optional<policy::evict::BudgetPool> {
                            if (node == "elsewhere") return std::nullopt;
                            policy::evict::BudgetPool pool{"night", {}, false};
                            pool.settings.job_per_hour = job_per_hour_;
                            pool.settings.pool_per_hour = pool_per_hour_;
                            return pool;
                          }}};
};

TEST_F(EvictionLimitsTest, LimitsEvictionsOfAJobPerHour) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(evict("sort"), "goes");
    is_counted("sort");
    clock_.advance(1min);
  }
  EXPECT_EQ(evict("sort"), "JobBudget: team/sort has 3 evictions within the hour, those on their way counted; 3");
  EXPECT_EQ(evict("other"), "goes") << "each job has its own";
  clock_.advance(70min);
  EXPECT_EQ(evict("sort"), "goes") << "hours slide";
}

TEST_F(EvictionLimitsTest, ConcurrentRequestsDoNotExceedTheJobLimit) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(evict("sort", cat("n", i)), "goes");
  EXPECT_EQ(evict("sort", "n4").substr(0, 9), "JobBudget") << "none of them is counted yet";
  is_counted("sort");
  is_counted("sort");
  clock_.advance(5s);
  EXPECT_EQ(evict("sort", "n4").substr(0, 9), "JobBudget") << "two are counted, one is on its way";
  clock_.advance(kEvictionCounted);
  EXPECT_EQ(evict("sort", "n4"), "goes") << "the third never happened";
}

TEST_F(EvictionLimitsTest, DoesNotCountAnObservedEvictionTwice) {
  job_per_hour_ = 2;
  EXPECT_EQ(evict("sort"), "goes");
  is_counted("sort");
  EXPECT_EQ(evict("sort"), "goes") << "the first is one, not two";
  EXPECT_EQ(evict("sort").substr(0, 9), "JobBudget");
}

// Its agent heard no answer, or the API server asks again: one eviction, and the limit leaves the others what is
// theirs.
TEST_F(EvictionLimitsTest, RepeatedRequestForAPodCountsOnce) {
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

TEST_F(EvictionLimitsTest, OftenEvictedJobHasALowerLimit) {
  job_per_hour_ = 3;
  for (int i = 0; i < 16; ++i) is_counted("old");
  clock_.advance(3h);
  EXPECT_EQ(evict("old"), "goes");
  EXPECT_EQ(evict("old"), "JobBudget: team/old has 1 eviction within the hour, those on their way counted; 1");
}

// 500 a second is what the webhook looks at, and five seconds what the leader takes to look at its pools.
TEST_F(EvictionLimitsTest, ConcurrentRequestsDoNotExceedThePoolLimit) {
  pool_per_hour_ = 50;
  int gone = 0;
  for (int i = 0; i < 2'500; ++i) {
    if (evict(cat("job-", i), cat("n", i)) == "goes") ++gone;
    if (i == 30) {
      for (int counted = 0; counted < 20; ++counted) is_counted(cat("job-", counted));
    }
    clock_.advance(2ms);
  }
  EXPECT_EQ(gone, 50);
  EXPECT_EQ(evict("one-more"), pool_is_full());
}

TEST_F(EvictionLimitsTest, DoesNotCountAnEvictionOfThePoolTwice) {
  pool_per_hour_ = 3;
  EXPECT_EQ(evict("a"), "goes");
  is_counted("a");
  EXPECT_EQ(evict("b"), "goes");
  EXPECT_EQ(evict("c"), "goes");
  EXPECT_EQ(evict("d"), pool_is_full());
  is_counted("b");
  is_counted("c");
  clock_.advance(70min);
  EXPECT_EQ(evict("d"), "goes") << "hours slide";
}

TEST_F(EvictionLimitsTest, OtherEvictionsDoNotHidePendingOnes) {
  pool_per_hour_ = 4;
  EXPECT_EQ(evict("a"), "goes");
  EXPECT_EQ(evict("b"), "goes");
  is_counted("by-its-kubelet");
  policy::evict::count_preempted(book_, "night", 1, clock_.wall(), clock_.wall());
  EXPECT_EQ(evict("c"), pool_is_full()) << "two are counted, two are on their way";
}

// The API server asks the webhook before it looks at a disruption budget.
TEST_F(EvictionLimitsTest, PodThatStaysReturnsItsPlaceInThePool) {
  pool_per_hour_ = 1;
  EXPECT_EQ(evict_pod("guarded", "a"), "goes");
  EXPECT_EQ(evict_pod("guarded", "a"), "goes") << "its node asks again: the same one";
  EXPECT_EQ(evict("b"), pool_is_full());
  clock_.advance(kEvictionCounted);
  EXPECT_EQ(evict("b"), "goes");
  EXPECT_EQ(evict_pod("guarded", "a"), pool_is_full());
}

// Agents ask twice a minute for those whom a disruption budget guards; others are to go meanwhile.
TEST_F(EvictionLimitsTest, ProtectedPodsDoNotUseUpTheLimit) {
  pool_per_hour_ = 2;
  EXPECT_EQ(evict_pod("guarded-1", "a"), "goes");
  EXPECT_EQ(evict_pod("guarded-2", "b"), "goes");
  clock_.advance(kEvictionCounted + std::chrono::seconds(20));
  EXPECT_EQ(evict_pod("guarded-1", "a"), "goes");
  EXPECT_EQ(evict_pod("guarded-2", "b"), "goes");
  EXPECT_EQ(evict("c"), pool_is_full()) << "they may go this time";
  clock_.advance(kSecondTry);
  EXPECT_EQ(evict("c"), "goes");
  EXPECT_EQ(evict("d"), "goes");
  EXPECT_EQ(evict("e"), pool_is_full());
}

TEST_F(EvictionLimitsTest, PodWithANewUidCountsAsAnotherPod) {
  pool_per_hour_ = 2;
  const auto member = [&](std::string_view uid) {
    return limits_.take(cat(R"({"metadata":{"namespace":"team","name":"set-0","uid":")", uid,
                            R"("},"spec":{"nodeName":"n1","containers":[{"name":"c"}]}})"));
  };
  EXPECT_FALSE(member("first"));
  EXPECT_FALSE(member("second"));
  EXPECT_TRUE(member("third"));
}

// As the leader stored it: a replica that began later may have seen less.
TEST_F(EvictionLimitsTest, DeniesEvictionsAtThePoolLimit) {
  state_.pools.push_back({"night", {}, {}, true, {}, {}});
  EXPECT_EQ(evict("sort"), "PoolBudget: night; ");
  pool_per_hour_ = 3;
  EXPECT_EQ(evict("sort"), "PoolBudget: night; ") << "of which this replica saw none";
}

TEST_F(EvictionLimitsTest, AllowsEveryEvictionWithoutALimit) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(evict("sort", "elsewhere"), "goes");
}

}  // namespace
}  // namespace tidemark::manager
