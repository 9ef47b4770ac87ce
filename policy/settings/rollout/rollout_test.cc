// What holds for every roll-out, whatever nodes, edits, evictions, requests and restarts come in whatever order.
#include "policy/settings/rollout/rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "policy/settings/rollout/stored.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;
using model::Reason;
using namespace std::chrono_literals;

const base::WallTime kRolloutStart{std::chrono::hours(24 * 365 * 50)};

struct Fleet {
  std::vector<std::string> names;
  std::vector<RolloutNode> nodes;

  Fleet(int canaries, int others) {
    names.reserve(static_cast<std::size_t>(canaries + others));
    for (int i = 0; i < canaries + others; ++i) {
      names.push_back(cat("node-", i));
      nodes.push_back({names.back(), i < canaries, i < canaries ? "canary" : "rest"});
    }
  }
  std::map<std::string, std::string> running(const RolloutState& state) const {
    std::map<std::string, std::string> found;
    for (const auto& node : nodes) found.emplace(node.name, in_force(state, node.name, node.canary));
    return found;
  }
};

RolloutObservation seeing(const Fleet& fleet, std::string source) {
  RolloutObservation seen;
  seen.source = std::move(source);
  seen.nodes = fleet.nodes;
  seen.evictions.emplace();
  return seen;
}

RolloutState settled(const std::string& revision) {
  RolloutState state;
  state.layers = {{revision, kAllNodes, kAllNodes}};
  return state;
}

bool has(const RolloutPlan& plan, Reason reason) {
  return std::ranges::find(plan.reasons, reason) != plan.reasons.end();
}

RolloutState reread(const RolloutState& state) {
  auto read = decode_state(encode_state(state));
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
  return read ? *read : RolloutState();
}

// How many changed from `before` to `after`.
std::int64_t changed(const std::map<std::string, std::string>& before,
                     const std::map<std::string, std::string>& after) {
  std::int64_t count = 0;
  for (const auto& [name, revision] : after) {
    if (before.at(name) != revision) ++count;
  }
  return count;
}

class EveryRollout : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(EveryRollout, MovesAtMostSoManyAMinuteCanariesFirstEachNodeOnceAndEndsEverywhere) {
  std::mt19937 random(GetParam());
  const auto draw = [&](int lowest, int highest) { return std::uniform_int_distribution(lowest, highest)(random); };
  const int canaries = draw(0, 20);
  const Fleet fleet(canaries, draw(1, 300));
  waterline::RolloutSettings settings;
  settings.nodes_per_minute = draw(1, 200);
  settings.canary_soak = std::chrono::seconds(draw(0, 120));

  RolloutState state = settled("A");
  auto before = fleet.running(state);
  std::vector<std::pair<base::WallTime, std::int64_t>> moves;
  base::WallTime now = kRolloutStart;
  base::WallTime canaries_done = now;
  bool all_canaries = canaries == 0;
  for (int i = 0; state.layers.size() > 1 || i == 0; ++i) {
    ASSERT_LT(i, 100'000) << "it never ends";
    now = now + std::chrono::milliseconds(draw(1, 30'000));
    if (draw(0, 9) == 0) state = reread(state);  // a restart
    auto result = step(state, seeing(fleet, "B"), settings, now);
    state = std::move(result.state);
    const auto after = fleet.running(state);
    const std::int64_t count = changed(before, after);
    EXPECT_EQ(count, result.plan.moved);
    EXPECT_EQ(count > 0 || i == 0 || has(result.plan, Reason::kRolloutDone), result.plan.in_force);
    moves.emplace_back(now, count);

    std::int64_t within_a_minute = 0;
    for (const auto& [when, nodes] : moves) {
      if (now - when < 1min) within_a_minute += nodes;
    }
    ASSERT_LE(within_a_minute, settings.nodes_per_minute);

    bool others_moved = false;
    std::int64_t canaries_left = 0;
    for (const auto& node : fleet.nodes) {
      const std::string& was = before.at(std::string(node.name));
      const std::string& is = after.at(std::string(node.name));
      ASSERT_FALSE(was == "B" && is != "B") << node.name << " went back";
      if (node.canary && is != "B") ++canaries_left;
      if (!node.canary && was != is) others_moved = true;
    }
    if (others_moved) {
      ASSERT_TRUE(all_canaries) << "the fleet before the canaries";
      if (canaries > 0) {
        ASSERT_GE(now - canaries_done, settings.canary_soak) << "no soak";
      }
    }
    if (canaries_left == 0 && !all_canaries) {
      all_canaries = true;
      canaries_done = now;
    }
    EXPECT_EQ(result.plan.waiting, std::ranges::count_if(after, [](const auto& each) { return each.second != "B"; }));
    before = after;
  }
  EXPECT_EQ(state.phase, Phase::kSettled);
  EXPECT_EQ(state.target(), "B");
  for (const auto& [name, revision] : before) EXPECT_EQ(revision, "B") << name;
}

// The same steps with and without restarts end in the same state, step by step.
TEST_P(EveryRollout, ARestartAtAnyStepChangesNothing) {
  std::mt19937 random(GetParam());
  const auto draw = [&](int lowest, int highest) { return std::uniform_int_distribution(lowest, highest)(random); };
  const Fleet fleet(draw(0, 5), draw(1, 60));
  waterline::RolloutSettings settings;
  settings.nodes_per_minute = draw(1, 100);
  settings.canary_soak = std::chrono::seconds(draw(0, 60));
  settings.evictions.at_least = 5;
  RolloutState steady = settled("A");
  RolloutState restarted = steady;
  base::WallTime now = kRolloutStart;
  RolloutObservation seen = seeing(fleet, "A");
  for (int i = 0; i < 200; ++i) {
    now = now + std::chrono::microseconds(draw(1, 12'000'000));
    if (draw(0, 15) == 0) seen.source = std::string(1, static_cast<char>('A' + draw(0, 6)));
    if (draw(0, 15) == 0) seen.evictions = std::vector<PoolEvictions>{{"rest", draw(0, 20)}, {"canary", draw(0, 8)}};
    if (draw(0, 30) == 0) seen.evictions.reset();
    if (draw(0, 20) == 0) {
      RolloutRequest request;
      request.id = cat(i);
      request.verb = static_cast<RolloutRequest::Verb>(draw(0, 2));
      request.at = now;
      request.revision = draw(0, 1) == 0 ? seen.source : "elsewhere";
      request.at_once = draw(0, 2) == 0;
      if (draw(0, 1) == 0) request.until = now + std::chrono::seconds(draw(0, 90));
      seen.request = request;
    }
    auto a = step(steady, seen, settings, now);
    // The stored state is the state of the plan.
    auto b = step(restarted, seen, settings, now);
    ASSERT_EQ(a.state, b.state) << "step " << i;
    ASSERT_EQ(a.plan.reasons, b.plan.reasons);
    steady = std::move(a.state);
    restarted = reread(b.state);
    ASSERT_LE(steady.layers.size(), kLayersMax);
    ASSERT_FALSE(steady.layers.empty());
    ASSERT_EQ(steady.phase == Phase::kSettled, steady.layers.size() == 1);
  }
}

// Total: any state and any observation give a state that can be gone on from.
TEST_P(EveryRollout, AnyStateIsGoneOnFrom) {
  std::mt19937 random(GetParam());
  const auto draw = [&](int lowest, int highest) { return std::uniform_int_distribution(lowest, highest)(random); };
  const Fleet fleet(draw(0, 3), draw(0, 10));
  RolloutState state;
  for (int layers = draw(1, 8); layers > 0; --layers) {
    state.layers.push_back(
        {cat("r", draw(0, 3)), order_of(cat("node-", draw(0, 12))), draw(0, 2) == 0 ? kAllNodes : ""});
  }
  state.phase = static_cast<Phase>(draw(1, 3));
  state.looked = kRolloutStart + std::chrono::hours(draw(-100, 100));
  state.grants = {{kRolloutStart + std::chrono::hours(draw(-2, 2)), draw(0, 1000)}};
  waterline::RolloutSettings settings;
  settings.nodes_per_minute = draw(1, 100'000);
  RolloutObservation seen = seeing(fleet, "r9");
  base::WallTime now = kRolloutStart;
  for (int i = 0; i < 5000 && (state.layers.size() > 1 || state.target() != "r9"); ++i) {
    now = now + kRolloutStep;
    state = step(state, seen, settings, now).state;
  }
  EXPECT_EQ(state.layers.size(), 1U);
  EXPECT_EQ(state.target(), "r9");
}

INSTANTIATE_TEST_SUITE_P(Seeds, EveryRollout, ::testing::Range(1U, 60U));

TEST(RolloutStepping, TheFirstSettingsHoldAtOnceHoweverManyNodes) {
  const Fleet fleet(3, 2000);
  const auto result = step({}, seeing(fleet, "A"), {}, kRolloutStart);
  EXPECT_TRUE(has(result.plan, Reason::kRolloutFirst));
  EXPECT_TRUE(result.plan.store);
  for (const auto& [name, revision] : fleet.running(result.state)) EXPECT_EQ(revision, "A") << name;
}

TEST(RolloutStepping, NothingToDoIsNothingToStore) {
  const Fleet fleet(3, 20);
  auto state = settled("A");
  for (int i = 0; i < 5; ++i) {
    const auto result = step(state, seeing(fleet, "A"), {}, kRolloutStart + i * kRolloutStep);
    EXPECT_FALSE(result.plan.store);
    EXPECT_FALSE(result.plan.in_force);
    EXPECT_TRUE(result.plan.reasons.empty());
    state = result.state;
  }
}

TEST(RolloutStepping, NodesThatComeOrGoNeedNoBookkeeping) {
  Fleet fleet(0, 100);
  waterline::RolloutSettings settings;
  settings.nodes_per_minute = 60;
  auto state = step(settled("A"), seeing(fleet, "B"), settings, kRolloutStart).state;
  for (int i = 1; i < 10; ++i)
    state = step(state, seeing(fleet, "B"), settings, kRolloutStart + i * kRolloutStep).state;
  const auto before = fleet.running(state);
  Fleet more(0, 150);  // the first hundred have the same names
  const auto after = more.running(state);
  for (const auto& [name, revision] : before) EXPECT_EQ(after.at(name), revision);
}

TEST(RolloutStepping, MoreEditsThanLayersWait) {
  const Fleet fleet(0, 1000);
  waterline::RolloutSettings settings;
  settings.nodes_per_minute = 12;
  auto state = settled("r0");
  base::WallTime now = kRolloutStart;
  bool refused = false;
  std::string last;
  for (int i = 1; i < 20; ++i) {
    // Fewer steps each time: each one reaches less far than the one before and hides none.
    for (int j = 0; j < 40 - 2 * i; ++j) {
      now = now + kRolloutStep;
      const auto result = step(state, seeing(fleet, cat("r", i)), settings, now);
      refused = refused || has(result.plan, Reason::kRolloutTooMany);
      state = result.state;
    }
    ASSERT_LE(state.layers.size(), kLayersMax);
  }
  EXPECT_TRUE(refused);
  // Nodes that this step does not reach get the revision later.
  for (int i = 0; i < 2000 && (state.layers.size() > 1 || state.target() != "r19"); ++i) {
    now = now + kRolloutStep;
    state = step(state, seeing(fleet, "r19"), settings, now).state;
  }
  EXPECT_EQ(state.target(), "r19");
  EXPECT_EQ(state.layers.size(), 1U);
}

TEST(RolloutOrder, IsTheSameEverywhereAndShufflesLikeNames) {
  EXPECT_EQ(order_of("node-1"), order_of("node-1"));
  EXPECT_LT(order_of("node-1"), kAllNodes);
  EXPECT_GT(order_of(""), NodeMark());
  // Of two racks named alike neither goes first as a whole.
  std::vector<std::pair<NodeMark, int>> order;
  for (int i = 0; i < 100; ++i) order.emplace_back(order_of(cat("rack-", i / 50, "-node-", i % 50)), i / 50);
  std::ranges::sort(order);
  const auto first =
      std::count_if(order.begin(), order.begin() + 50, [](const auto& each) { return each.second == 0; });
  EXPECT_GT(first, 12);
  EXPECT_LT(first, 38);
}

}  // namespace
}  // namespace tidemark::policy::settings
