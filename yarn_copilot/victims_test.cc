#include "yarn_copilot/victims.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/text.h"

namespace tidemark::yarn_copilot {
namespace {

Candidate container(std::string id, std::int64_t cores, std::int64_t gib, int age_s, bool master = false) {
  return {std::move(id), {{cores * 1000}, {gib << 30}}, master, base::WallTime{std::chrono::seconds(1000 - age_s)}};
}

std::string ids(const std::vector<Candidate>& all, model::Resources wanted) {
  std::string out;
  for (const std::size_t at : choose_victims(all, wanted)) out += base::cat(out.empty() ? "" : " ", all[at].id);
  return out;
}

TEST(Victims, TakesTheNewestFirstAndMastersLast) {
  const std::vector<Candidate> all = {container("master", 1, 1, 1, true), container("old", 1, 1, 300),
                                      container("new", 1, 1, 5), container("middle", 1, 1, 60)};
  EXPECT_EQ(ids(all, {{1000}, {0}}), "new");
  EXPECT_EQ(ids(all, {{1500}, {0}}), "new middle");
  EXPECT_EQ(ids(all, {{0}, {3LL << 30}}), "new middle old");
  EXPECT_EQ(ids(all, {{4000}, {0}}), "new middle old master");
  EXPECT_EQ(ids(all, {{9000}, {0}}), "new middle old master") << "not enough: takes all";
  EXPECT_EQ(ids(all, {}), "") << "nothing is wanted";
}

TEST(Victims, TreatsOneWithoutProcessesAsNewest) {
  std::vector<Candidate> all = {container("running", 1, 1, 1), container("starting", 1, 1, 0)};
  all[1].began.reset();
  EXPECT_EQ(ids(all, {{1000}, {0}}), "starting");
}

TEST(Victims, TakesNoMoreThanNeeded) {
  const std::vector<Candidate> all = {container("small", 1, 1, 1), container("large", 8, 8, 2)};
  EXPECT_EQ(ids(all, {{8000}, {0}}), "large") << "with it the small one may stay";
  EXPECT_EQ(ids({container("no memory", 2, 0, 1), container("memory", 1, 4, 9)}, {{0}, {4LL << 30}}), "memory");
}

// Random nodes: enough if possible, and none that could have stayed.
TEST(Victims, TakesEnoughAndNoneTooMany) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Candidate> all;
    model::Resources sum;
    for (unsigned i = 0, count = random() % 8; i < count; ++i) {
      all.push_back(container(base::cat("c", i), random() % 5, random() % 5, static_cast<int>(random() % 900),
                              random() % 4 == 0));
      sum += all.back().holds;
    }
    const model::Resources wanted{{static_cast<std::int64_t>(random() % 9000)},
                                  {static_cast<std::int64_t>(random() % 9) << 30}};
    const auto chosen = choose_victims(all, wanted);
    model::Resources got;
    for (const std::size_t at : chosen) got += all[at].holds;
    const bool possible = sum.cpu >= wanted.cpu && sum.memory >= wanted.memory;
    if (possible) {
      EXPECT_GE(got.cpu, wanted.cpu);
      EXPECT_GE(got.memory, wanted.memory);
    }
    for (const std::size_t at : chosen) {
      const model::Resources without = got - all[at].holds;
      EXPECT_TRUE(!possible || without.cpu < wanted.cpu || without.memory < wanted.memory) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace tidemark::yarn_copilot
