#include "policy/state/overrides.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "policy/state/order.h"

namespace tidemark::policy::state {
namespace {

using namespace std::chrono_literals;
using base::WallTime;
using model::Reason;

constexpr WallTime kOverrideNow{std::chrono::hours(24 * 365 * 56)};

OverrideCommand order(waterline::LinePercent line, base::Duration lasts, std::string why = "a test") {
  return {line, "ann@ops", std::move(why), kOverrideNow + lasts};
}
OverrideCommand clear() {
  return {std::nullopt, "ann@ops", "over", {}};
}
Overrides given(const Overrides& before, std::string_view pool, const OverrideCommand& command,
                WallTime now = kOverrideNow) {
  const auto commanded = command_override(before, pool, command, now);
  EXPECT_TRUE(commanded) << commanded.error().message;
  return commanded ? commanded->overrides : Overrides();
}
std::string refusal(const OverrideCommand& command) {
  const auto commanded = command_override({}, "web", command, kOverrideNow);
  return commanded ? "taken" : commanded.error().message;
}

TEST(Overrides, ReadsWhatItWrote) {
  auto overrides = given({}, "web", order({60, 55}, 2h));
  overrides = given(overrides, "", order({std::nullopt, 40}, 1h, "\"quoted\" \u00fc"));
  overrides = given(overrides, "batch", order({0, std::nullopt}, 90min));
  const auto read = parse_overrides(format_overrides(overrides));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, overrides);
  EXPECT_EQ(overrides.pools.size(), 2u);
  EXPECT_EQ(overrides.pools[0].pool, "batch") << "by name";
  EXPECT_EQ(overrides.of("web")->line, (waterline::LinePercent{60, 55}));
}

TEST(Overrides, NewOneReplacesAndReturnsTheOldOne) {
  const auto before = given({}, "web", order({60, 55}, 2h));
  const auto commanded = *command_override(before, "web", order({40, std::nullopt}, 1h), kOverrideNow);
  EXPECT_EQ(commanded.before->line, (waterline::LinePercent{60, 55}));
  EXPECT_EQ(commanded.after->line, (waterline::LinePercent{40, std::nullopt}));
  EXPECT_EQ(commanded.overrides.pools.size(), 1u);
  EXPECT_GT(commanded.overrides.generation, before.generation);
}

TEST(Overrides, TheSameAgainChangesNothing) {
  const auto before = given({}, "web", order({60, 55}, 2h));
  const auto again = *command_override(before, "web", order({60, 55}, 2h), kOverrideNow);
  EXPECT_EQ(again.effect, OverrideEffect::kAlready);
  EXPECT_EQ(again.overrides, before);
}

TEST(Overrides, ClearingRemovesAnExistingOne) {
  const auto before = given({}, "web", order({60, 55}, 2h));
  EXPECT_FALSE(given(before, "web", clear()).any());
  EXPECT_EQ(command_override(before, "batch", clear(), kOverrideNow)->effect, OverrideEffect::kNothing);
  EXPECT_EQ(command_override(before, "", clear(), kOverrideNow)->effect, OverrideEffect::kNothing);
}

// Overrides expire by the manager's clock; the clock of an operator may be hours ahead.
TEST(Overrides, AClockThatIsAheadThrowsNothingAway) {
  auto before = given({}, "web", order({60, 55}, 2h));
  before = given(before, "", order({70, std::nullopt}, 1h));
  const auto late = *command_override(before, "batch", order({50, 50}, 6h), kOverrideNow + 3h);
  ASSERT_NE(late.overrides.of("web"), nullptr);
  EXPECT_EQ(*late.overrides.of("web"), *before.of("web"));
  EXPECT_TRUE(late.overrides.cluster);
  const auto cleared = *command_override(before, "web", clear(), kOverrideNow + 3h);
  EXPECT_EQ(cleared.effect, OverrideEffect::kSet) << "by the manager's clock it may hold still";
  EXPECT_EQ(cleared.overrides.of("web"), nullptr);
  const auto again = *command_override(before, "web", order({60, 55}, 8h), kOverrideNow + 3h);
  EXPECT_EQ(again.effect, OverrideEffect::kSet);
  const auto day = *command_override(before, "batch", order({50, 50}, 48h), kOverrideNow + 2h + kOverrideKeptEnded);
  EXPECT_EQ(day.overrides.pools.size(), 1u) << "what ended a day ago goes";
  EXPECT_FALSE(day.overrides.cluster);
}

TEST(Overrides, RejectsInvalidOrdersWithAReason) {
  EXPECT_NE(refusal(order({101, std::nullopt}, 2h)).find("cpu: wanted 0 to 100"), std::string::npos);
  EXPECT_NE(refusal(order({50, -1}, 2h)).find("memory: wanted 0 to 100"), std::string::npos);
  EXPECT_NE(refusal(order({}, 2h)).find("no line given"), std::string::npos);
  EXPECT_NE(refusal(order({50, 50}, 0s)).find("at least 1m"), std::string::npos);
  EXPECT_NE(refusal(order({50, 50}, -1h)).find("at least 1m"), std::string::npos);
  EXPECT_NE(refusal(order({50, 50}, kOverrideLastsMax + 1s)).find("168h"), std::string::npos);
  EXPECT_EQ(refusal(order({0, 100}, kOverrideLastsMax)), "taken");
}

TEST(Overrides, ThereIsRoomForSoManyPoolsAndNoMore) {
  Overrides overrides;
  for (std::size_t i = 0; i < kOverridesPoolsMax; ++i) {
    overrides = given(overrides, base::cat("pool-", i), order({50, 50}, 1h, std::string(kWhyBytesMax, 'x')));
  }
  EXPECT_LT(format_overrides(overrides).size(), kOverridesBytesMax);
  const auto more = command_override(overrides, "one-more", order({50, 50}, 1h), kOverrideNow);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().kind, ErrorKind::kExhausted);
  EXPECT_TRUE(command_override(overrides, "pool-7", order({60, 50}, 1h), kOverrideNow)) << "its own place";
  EXPECT_TRUE(command_override(overrides, "one-more", order({50, 50}, 48h), kOverrideNow + 1h + kOverrideKeptEnded))
      << "those that ended long ago make room";
}

TEST(Overrides, OfAPoolHoldItsOwnAndTheClustersUntilEachEnds) {
  auto overrides = given({}, "web", order({60, 55}, 2h));
  overrides = given(overrides, "", order({70, std::nullopt}, 1h));
  EXPECT_EQ(overrides_of(overrides, "web", kOverrideNow).size(), 2u);
  EXPECT_EQ(overrides_of(overrides, "other", kOverrideNow).size(), 1u);
  EXPECT_EQ(overrides_of(overrides, "other", kOverrideNow + 1h).size(), 0u) << "to the moment";
  EXPECT_EQ(overrides_of(overrides, "web", kOverrideNow + 1h).size(), 1u);
  EXPECT_EQ(overrides_of(overrides, "web", kOverrideNow + 2h).size(), 0u);
}

TEST(Overrides, ReportsStoredProblemsWithPlaces) {
  const auto problem = [](std::string_view text) {
    const auto read = parse_overrides(text);
    return read ? std::string("taken") : read.error().message;
  };
  const std::string good =
      R"({"schema":1,"generation":3,"pools":[{"name":"web","cpu":60,"by":"ann","why":"x","since":"2026-11-21T10:00:00Z","until":"2026-11-21T12:00:00Z"}]})";
  EXPECT_EQ(problem(good), "taken");
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return problem(text);
  };
  EXPECT_NE(changed(R"("cpu":60)", R"("cpu":160)").find("pools[0].cpu"), std::string::npos);
  EXPECT_NE(changed(R"("cpu":60,)", "").find("pools[0].cpu: missing"), std::string::npos);
  EXPECT_NE(changed(R"("2026-11-21T12:00:00Z")", R"("2027-11-21T12:00:00Z")").find("168h"), std::string::npos);
  EXPECT_NE(changed(R"("until":"2026-11-21T12:00:00Z")", R"("until":"later")").find("pools[0].until"),
            std::string::npos);
  EXPECT_NE(changed(R"(,"until":"2026-11-21T12:00:00Z")", "").find("pools[0].until"), std::string::npos)
      << "without an end it is none";
  EXPECT_NE(changed(R"("name":"web",)", "").find("pools[0].name"), std::string::npos);
  EXPECT_NE(changed(R"("why")", R"("because")").find("because"), std::string::npos);
  EXPECT_NE(changed(R"("schema":1)", R"("schema":2)").find("written with schema 2"), std::string::npos);
  EXPECT_NE(problem("{"), "taken");
  EXPECT_NE(problem("[]"), "taken");
}

TEST(Overrides, TheLastGoodTextHolds) {
  const auto overrides = given({}, "web", order({60, 55}, 2h));
  const auto text = format_overrides(overrides);
  auto step = next_overrides({}, text);
  EXPECT_EQ(step.trouble, std::nullopt);
  EXPECT_EQ(step.state.overrides, overrides);
  auto broken = next_overrides(step.state, "{");
  EXPECT_EQ(broken.trouble, Reason::kLineOverridesKept);
  EXPECT_NE(broken.problem, "");
  EXPECT_EQ(broken.state.overrides, overrides);
  EXPECT_EQ(next_overrides(step.state, std::nullopt).trouble, Reason::kLineOverridesKept);
  EXPECT_EQ(next_overrides(step.state, std::nullopt).state.overrides, overrides);
  EXPECT_EQ(next_overrides({}, std::nullopt).trouble, std::nullopt) << "nothing was ever ordered";
  EXPECT_EQ(next_overrides({}, "{").state.overrides, std::nullopt);
  // An operator restores a backup.
  const auto later = given(overrides, "web", clear(), kOverrideNow + 1s);
  step = next_overrides(step.state, format_overrides(later));
  EXPECT_EQ(step.state.overrides, later);
  const auto old = next_overrides(step.state, text);
  EXPECT_EQ(old.trouble, Reason::kLineOverridesOld);
  EXPECT_EQ(old.state.overrides, later);
}

TEST(Overrides, ReportsEachStartAndEndOnce) {
  const auto none = Overrides();
  const auto one = given(none, "web", order({60, 55}, 2h));
  auto changes = override_changes(none, kOverrideNow, one, kOverrideNow);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].pool, "web");
  EXPECT_EQ(changes[0].reason, Reason::kLineOverridden);
  EXPECT_TRUE(override_changes(one, kOverrideNow, one, kOverrideNow + 1h).empty());
  changes = override_changes(one, kOverrideNow, one, kOverrideNow + 2h);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].reason, Reason::kLineOverrideEnded);
  EXPECT_TRUE(override_changes(one, kOverrideNow + 2h, one, kOverrideNow + 3h).empty());
  changes = override_changes(one, kOverrideNow, given(one, "web", clear(), kOverrideNow + 1h), kOverrideNow + 1h);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].reason, Reason::kLineOverrideCleared);
  changes = override_changes(one, kOverrideNow, given(one, "", order({10, 10}, 1h)), kOverrideNow);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].pool, "");
}

}  // namespace
}  // namespace tidemark::policy::state
