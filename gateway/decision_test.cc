#include "gateway/decision.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <string>

#include "base/json.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

using namespace policy::route;

Result<model::TimeZone> zone_of(const std::string& name) {
  if (name != "Berlin") return fail(ErrorKind::kInvalid, "unknown time zone");
  return model::TimeZone::from_spans("Berlin",
                                     {{.from_s = std::numeric_limits<std::int64_t>::min(), .offset_s = 3600}});
}

Attempt stored_attempt(const RouteDecision& decision, std::string inputs) {
  Attempt out;
  out.side = *decision.side;
  out.reason = decision.reason;
  out.rule = decision.rule;
  out.inputs = std::move(inputs);
  return out;
}

class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}
  std::int64_t upto(std::int64_t max) { return std::uniform_int_distribution<std::int64_t>(0, max)(random_); }
  bool coin() { return upto(1) == 1; }
  std::string word() {
    static constexpr const char* kWords[] = {"", "ads", "search", "night"};
    return kWords[upto(3)];
  }
  std::string some_word() {
    const std::string out = word();
    return out.empty() ? "other" : out;
  }
  Side side() { return coin() ? Side::kKubernetes : Side::kYarn; }
  model::Resources amount() { return {{upto(20'000)}, {upto(20) << 30}}; }

  RouteInput input() {
    RouteInput out;
    out.possible = {upto(9) > 0, upto(9) > 0};
    if (upto(9) == 0) out.pin = side();
    if (upto(9) == 0) out.left = side();
    out.business = word();
    out.queue = word();
    out.name = some_word();
    out.now = {std::chrono::minutes(upto(100'000'000))};
    out.draw = upto(99);
    out.comparison_differs = upto(9) == 0;
    RouteSignals& signals = out.signals;
    signals.kubernetes_waiting = upto(60);
    signals.no_more_kubernetes = upto(9) == 0;
    signals.need = {amount(), upto(9)};
    signals.waited = std::chrono::seconds(upto(1000));
    if (coin()) {
      signals.capacity.emplace();
      for (auto left = upto(3); left > 0; --left) {
        signals.capacity->nodes.push_back({word(), amount(), amount()});
        signals.capacity->claims.push_back({word(), amount()});
      }
    }
    if (coin()) {
      signals.quota.emplace();
      if (coin()) signals.quota->batch_cpu = model::CpuMilli{upto(20'000)};
      if (coin()) signals.quota->batch_memory = model::MemoryBytes{upto(20) << 30};
      if (coin()) signals.quota->pods = upto(9);
    }
    if (coin()) {
      signals.queue = YarnQueue{.path = "root." + some_word(),
                                .pending = upto(3),
                                .pending_containers = upto(3),
                                .used_percent = upto(120),
                                .waits = 60};
      if (coin()) signals.queue->p95_bound_s = upto(1000);
    }
    return out;
  }
  RouteRules rules() {
    RouteRules out;
    out.kubernetes_percent = upto(100);
    out.kubernetes_waiting_max = 1 + upto(100);
    out.owner_keeps_percent = coin() ? upto(100) : 0;
    if (coin()) out.yarn_wait_max = std::chrono::seconds(upto(900));
    for (auto left = upto(3); left > 0; --left) {
      SideRule& rule = out.rules.emplace_back();
      rule.label = "rule " + std::to_string(left);
      rule.business = word();
      rule.queue = word();
      rule.name_prefix = word();
      rule.side = side();
      rule.ban = coin();
      if (coin()) {
        rule.window = RouteWindow{.from_minute = upto(1439), .to_minute = 1440, .days = std::bitset<7>().set(upto(6))};
        if (coin()) rule.window->zone = *zone_of("Berlin");
      }
    }
    return out;
  }

 private:
  std::mt19937 random_;
};

TEST(Decision, StoredInputsGiveTheSameDecision) {
  std::set<RouteReason> seen;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    Chance chance(seed);
    const RouteInput input = chance.input();
    const RouteRules rules = chance.rules();
    const RulesRevision revision = revision_of(rules);
    const auto stored = decode_inputs(encode_inputs(input, revision.hash));
    ASSERT_TRUE(stored) << stored.error().message;
    EXPECT_EQ(stored->input, input);
    EXPECT_EQ(stored->rules, revision.hash);

    const RouteDecision decision = choose_side(input, rules);
    seen.insert(decision.reason);
    if (!decision.side) continue;
    const Attempt attempt = stored_attempt(decision, encode_inputs(input, revision.hash));
    const auto again = replay(attempt, revision.text, zone_of);
    ASSERT_TRUE(again) << again.error().message << revision.text;
    EXPECT_TRUE(again->same) << seed << " " << attempt.inputs << revision.text;
  }
  for (const RouteReason reason :
       {RouteReason::kMoved, RouteReason::kPinnedByRule, RouteReason::kBannedByRule, RouteReason::kNamespaceFull,
        RouteReason::kKubernetesFull, RouteReason::kRoomIsForOwner, RouteReason::kWaitsForRoom}) {
    EXPECT_TRUE(seen.contains(reason)) << name_of(reason);
  }
}

TEST(Decision, OtherRulesGiveAnotherDecision) {
  RouteInput input;
  input.possible = {true, true};
  const RouteRules rules;
  const Attempt attempt =
      stored_attempt({Side::kKubernetes, RouteReason::kWithinShare}, encode_inputs(input, revision_of(rules).hash));
  EXPECT_TRUE(replay(attempt, revision_of(rules).text, zone_of)->same);
  RouteRules none;
  none.kubernetes_percent = 0;
  const auto other = replay(attempt, revision_of(none).text, zone_of);
  EXPECT_FALSE(other->same);
  EXPECT_EQ(other->now.side, Side::kYarn);
  EXPECT_NE(revision_of(rules).hash, revision_of(none).hash);
  EXPECT_FALSE(replay(attempt, "", zone_of)) << "the store has lost the rules";
}

}  // namespace
}  // namespace tidemark::gateway
