#include "policy/waterline/profile/recommendation.h"

#include <gtest/gtest.h>

#include <random>

namespace tidemark::policy::waterline {
namespace {

constexpr base::WallTime kNow{std::chrono::hours(24 * 20'000 + 36)};

ContainerRequest container(std::string name, std::int64_t cpu, std::int64_t memory) {
  return {std::move(name), {{cpu}, {memory}}};
}

UsageProfile used(std::int64_t cpu, std::int64_t memory, int hours) {
  UsageProfile profile;
  for (int hour = hours - 1; hour >= 0; --hour) {
    add_sample(profile, {{cpu}, {memory}}, kNow + -std::chrono::hours(hour));
  }
  return profile;
}

model::Resources sum(const Recommendation& recommendation) {
  model::Resources all;
  for (const auto& each : recommendation.containers) all += each.request;
  return all;
}

TEST(Recommend, ContainersShareAsTheyRequestAndTheLastGetsTheRest) {
  const std::vector<ContainerRequest> pod{container("main", 900, 3 << 20), container("proxy", 100, 1 << 20)};
  const auto wanted = recommend(used(1000, 8 << 20, 24), pod, {.margin_percent = 0}, kNow);
  ASSERT_TRUE(wanted);
  EXPECT_EQ(sum(*wanted).cpu, cpu_of(cpu_code({1000})));
  EXPECT_EQ(sum(*wanted).memory.value, memory_of(memory_code({8 << 20})).value);
  EXPECT_EQ(wanted->containers[0].name, "main");
  EXPECT_NEAR(wanted->containers[0].request.cpu.value, sum(*wanted).cpu.value * 9 / 10, 1);
  EXPECT_NEAR(wanted->containers[1].request.memory.value, sum(*wanted).memory.value / 4, 1);
  const auto alike =
      recommend(used(1000, 8 << 20, 24), std::vector{container("a", 0, 0), container("b", 0, 0)}, {}, kNow);
  EXPECT_NEAR(alike->containers[0].request.cpu.value, alike->containers[1].request.cpu.value, 1);
}

TEST(Recommend, NeedsEnoughHistory) {
  const std::vector<ContainerRequest> pod{container("main", 900, 3 << 20)};
  EXPECT_FALSE(recommend(used(1000, 8 << 20, 23), pod, {}, kNow));
  EXPECT_TRUE(recommend(used(1000, 8 << 20, 24), pod, {}, kNow));
  EXPECT_FALSE(recommend(used(1000, 8 << 20, 24), pod, {}, kNow + std::chrono::hours(24 * 8)));
  EXPECT_FALSE(recommend(used(1000, 8 << 20, 24), {}, {}, kNow));
}

TEST(Recommend, NothingIsLostOrNegativeWhateverTheRequests) {
  std::mt19937_64 random(1);
  const auto draw = [&] {
    const auto value = static_cast<std::int64_t>(random());
    return random() % 3 == 0 ? value : value % 10'000;
  };
  for (int round = 0; round < 5'000; ++round) {
    std::vector<ContainerRequest> pod;
    for (auto i = random() % 5 + 1; i > 0; --i) pod.push_back(container("c" + std::to_string(i), draw(), draw()));
    const RecommendationSettings settings{.margin_percent = static_cast<std::int64_t>(random() % 400)};
    const auto wanted = recommend(used(draw(), draw(), 30), pod, settings, kNow);
    ASSERT_TRUE(wanted);
    for (const auto& each : wanted->containers) {
      ASSERT_GE(each.request.cpu.value, 0);
      ASSERT_GE(each.request.memory.value, 0);
    }
    EXPECT_FALSE(differs(*wanted, *wanted, 0));
    EXPECT_EQ(parse_containers(containers_text(wanted->containers)), wanted->containers);
  }
}

TEST(Recommend, IgnoresSmallDifferences) {
  const Recommendation told{{container("main", 1000, 1000)}};
  EXPECT_FALSE(differs(told, {{container("main", 1100, 900)}}, 10));
  EXPECT_TRUE(differs(told, {{container("main", 1101, 1000)}}, 10));
  EXPECT_TRUE(differs(told, {{container("main", 1000, 899)}}, 10));
  EXPECT_TRUE(differs(told, {{container("other", 1000, 1000)}}, 10));
  EXPECT_TRUE(differs(told, {{container("main", 1000, 1000), container("b", 0, 0)}}, 10));
}

TEST(Containers, RejectsInvalidTexts) {
  for (const char* text : {"", "a", "a=", "=1/1", "a=1", "a=1/x", "a=1/2/3", "a=1/2,"}) {
    EXPECT_TRUE(parse_containers(text).empty()) << text;
  }
}

}  // namespace
}  // namespace tidemark::policy::waterline
