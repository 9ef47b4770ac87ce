#include "policy/state/contest.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <stdexcept>

#include "base/text.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::state {
namespace {

using testing::Words;

class ContestScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "after") {
      now_ = now_ + testing::duration(words.next());
    } else if (verb == "overwritten") {
      answers.push_back(happens(ContestEvent::kOverwritten));
    } else if (verb == "reset") {
      answers.push_back(happens(ContestEvent::kReset));
    } else if (verb == "foreign") {
      answers.push_back(happens(ContestEvent::kForeign));
    } else if (verb == "look") {
      answers.push_back(happens(ContestEvent::kNothing));
    } else {
      throw std::runtime_error(base::cat("unknown verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  std::string happens(ContestEvent event) {
    auto done = step(state_, event, {}, now_);
    state_ = done.state;
    std::string line = state_.standing_back ? "> stands back" : "> writes";
    if (done.reason) line += base::cat(" [", model::reason_id(*done.reason), "]");
    if (done.again_after) line += base::cat(", again after ", base::format_go_duration(*done.again_after));
    return line;
  }

  ContestState state_;
  base::MonotonicTime now_{std::chrono::hours(1)};
};

TEST(Contest, IsWhatTheFilesSay) {
  testing::play_scenarios("policy/state/testdata/contest", 3, [] {
    return [scenario = std::make_shared<ContestScenario>()](std::string_view line) { return scenario->run(line); };
  });
}

// Invariants: within a window at most `overwrites` of our writes are overwritten before it stands back, it never stands
// back longer than calm_max after the last foreign write, and its memory is bounded.
TEST(ContestProperty, StandsBackInTimeAndReturnsInTime) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const ContestConfig config;
    ContestState state;
    base::MonotonicTime now{std::chrono::hours(1)};
    base::MonotonicTime last_foreign = now;
    std::vector<base::MonotonicTime> repaired;
    for (int i = 0; i < 400; ++i) {
      now = now + std::chrono::seconds(random() % 400);
      const auto event = state.standing_back
                             ? (random() % 4 == 0 ? ContestEvent::kForeign : ContestEvent::kNothing)
                             : (random() % 3 == 0 ? ContestEvent::kOverwritten : ContestEvent::kNothing);
      if (event != ContestEvent::kNothing) last_foreign = now;
      const auto done = step(state, event, config, now);
      if (done.reason == model::Reason::kContestRepair) repaired.push_back(now);
      std::erase_if(repaired, [&](auto at) { return now - at > config.window; });
      ASSERT_LT(repaired.size(), static_cast<std::size_t>(config.overwrites)) << "seed " << seed;
      if (done.state.standing_back) {
        ASSERT_LT(now - last_foreign, config.calm_max) << "seed " << seed;
        ASSERT_TRUE(done.again_after && done.again_after->count() > 0);
      }
      ASSERT_LE(done.state.overwrites.size(), static_cast<std::size_t>(kOverwritesMax));
      state = done.state;
    }
  }
}

// Resets no sooner than the gap are repaired each time, however long they continue, and the memory stays small.
TEST(ContestProperty, RareResetsAreAlwaysRepaired) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const ContestConfig config;
    ContestState state;
    base::MonotonicTime now{std::chrono::hours(1)};
    for (int i = 0; i < 400; ++i) {
      now = now + config.reset_gap + std::chrono::seconds(random() % 400);
      const auto done = step(state, ContestEvent::kReset, config, now);
      ASSERT_EQ(done.reason, model::Reason::kContestRepair) << "seed " << seed;
      ASSERT_EQ(done.state.overwrites.size(), 1U);
      state = done.state;
    }
    EXPECT_EQ(step(state, ContestEvent::kNothing, config, now + config.window * 2).state, ContestState());
  }
}

}  // namespace
}  // namespace tidemark::policy::state
