// Plays testdata/*.txt:
//
//   gives CPU/MEMORY          what batch may use of the node
//   held CPU/MEMORY|unknown   by both sides
//   restart marked|unmarked   another manager starts, and finds the node so
//   after DURATION
//   look
#include "policy/sell/arbitrate.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <stdexcept>

#include "base/text.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using model::CpuMilli;
using model::MemoryBytes;
using model::Reason;
using model::Resources;
using std::chrono::seconds;
using testing::Words;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

class ArbitrateScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "gives") {
      seen_.gives = testing::amounts(words.next());
    } else if (verb == "held") {
      const std::string amount = words.next();
      seen_.held = amount == "unknown" ? std::nullopt : std::optional(testing::amounts(amount));
    } else if (verb == "restart") {
      state_ = {};
      state_.rejecting = words.next() == "marked";
    } else if (verb == "after") {
      now_ = now_ + testing::duration(words.next());
    } else if (verb == "look") {
      answers.push_back(look());
    } else {
      throw std::runtime_error(cat("unknown verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  std::string look() {
    const auto step = arbitrate(state_, seen_, {}, now_);
    state_ = step.state;
    std::string line = cat("> [", model::reason_id(step.plan.reason), "]");
    if (step.plan.excess != Resources{}) {
      line += cat("  ", step.plan.excess.cpu.value, "m and ", step.plan.excess.memory.value / kGi, "Gi too much");
    }
    if (step.again_after) {
      line += cat("  again after ", std::chrono::duration_cast<seconds>(*step.again_after).count(), "s");
    }
    return line;
  }

  ArbitrateState state_;
  ArbitrateSeen seen_;
  base::MonotonicTime now_{std::chrono::hours(1)};
};

TEST(Arbitrate, IsWhatTheFilesSay) {
  testing::play_scenarios("policy/sell/testdata/arbitrate", 1, [] {
    return [scenario = std::make_shared<ArbitrateScenario>()](std::string_view line) { return scenario->run(line); };
  });
}

// Random histories of a node, checked against what arbitration promises.
TEST(ArbitrateProperty, BeginsOnlyWithNewWorkAndEndsAfterAFullPause) {
  std::mt19937_64 random(7);
  const auto amount = [&](std::int64_t most) -> std::int64_t {
    if (random() % 64 == 0) return random() % 2 == 0 ? INT64_MAX : INT64_MIN;
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  int began = 0, ended = 0;
  for (int life = 0; life < 300; ++life) {
    model::ArbitrateSettings settings;
    settings.tolerance_permille = static_cast<std::int64_t>(random() % 100);
    settings.over_after = seconds(1 + static_cast<std::int64_t>(random() % 120));
    ArbitrateState state;
    base::MonotonicTime now{std::chrono::hours(1)};
    base::MonotonicTime last_too_much = now;  // or unknown
    ArbitrateSeen seen{Resources{}, {CpuMilli{500}, MemoryBytes{500}}};
    std::optional<Resources> held_before;
    for (int look = 0; look < 100; ++look) {
      now = now + seconds(static_cast<std::int64_t>(random() % 60));
      if (random() % 4 == 0) seen.gives = {CpuMilli{amount(1000)}, MemoryBytes{amount(1000)}};
      if (random() % 2 == 0) seen.held = Resources{CpuMilli{amount(800)}, MemoryBytes{amount(800)}};
      if (random() % 16 == 0) seen.held.reset();
      const auto step = arbitrate(state, seen, settings, now);
      const bool fits = seen.held && seen.held->cpu <= std::max(seen.gives.cpu, CpuMilli{}) &&
                        seen.held->memory <= std::max(seen.gives.memory, MemoryBytes{});
      EXPECT_EQ(fits, seen.held && step.plan.excess == Resources{});
      EXPECT_GE(step.plan.excess.cpu.value, 0);
      EXPECT_GE(step.plan.excess.memory.value, 0);
      EXPECT_EQ(step.plan.rejects(), step.state.rejecting);
      // Work that came while there was room does not count, except at the first look.
      const bool came_in_time = seen.held && state.rest &&
                                seen.held->cpu <= std::max(seen.gives.cpu, state.rest->cpu) &&
                                seen.held->memory <= std::max(seen.gives.memory, state.rest->memory);
      if (!fits && !came_in_time) last_too_much = now;
      if (step.state.rejecting && !state.rejecting) {
        ++began;
        ASSERT_TRUE(seen.held && !fits);
        ASSERT_TRUE(held_before) << "at the first look it is unknown which work is new";
        EXPECT_TRUE(seen.held->cpu > held_before->cpu || seen.held->memory > held_before->memory) << "nothing came";
      }
      if (!step.state.rejecting && state.rejecting) {
        ++ended;
        EXPECT_EQ(step.plan.reason, Reason::kArbitrateOver);
        EXPECT_GE(now - last_too_much, settings.over_after);
      } else {
        EXPECT_NE(step.plan.reason, Reason::kArbitrateOver);
      }
      state = step.state;
      if (seen.held) held_before = seen.held;
    }
  }
  EXPECT_GT(began, 500);
  EXPECT_GT(ended, 100);
}

// In however small steps, no more than the tolerance is admitted above what there is.
TEST(ArbitrateProperty, SmallStepsCountAsOneLargeStep) {
  ArbitrateState state;
  base::MonotonicTime now{std::chrono::hours(1)};
  for (std::int64_t held = 900; held <= 1021; ++held) {
    const ArbitrateSeen seen{Resources{CpuMilli{held}, MemoryBytes{1}}, {CpuMilli{1000}, MemoryBytes{10}}};
    const auto step = arbitrate(state, seen, {}, now);
    EXPECT_EQ(step.plan.rejects(), held > 1020) << held;
    state = step.state;
    now = now + seconds(1);
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
