#include "policy/sell/motion.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <ratio>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using model::CpuMilli;
using model::MemoryBytes;
using model::Resources;
using testing::Words;

// One node, shown by its CPU; memory gets the same number of bytes and so changes alike.
class MotionScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    std::vector<std::string> answers;
    if (verb == "config") {
      config(words);
    } else if (verb == "node") {
      node(words);
    } else if (verb == "after") {
      now_ = now_ + testing::duration(words.next());
    } else if (verb == "deaf") {  // no report could be received for this long
      const base::Duration unheard = testing::duration(words.next());
      now_ = now_ + unheard;
      state_ = without_unheard(state_, unheard, config_, now_);
    } else if (verb == "restart") {  // a restart of the process: its memory is lost, the offer on the node is not
      if (state_.offered) input_.on_node = state_.offered;
      state_ = MotionState();
    } else if (verb == "report") {  // the NodeMetric changed
      stamp_ = stamp_ + testing::duration(words.empty() ? "1m" : words.next());
      input_.stamp = stamp_;
    } else if (verb == "no-metric") {
      input_.stamp = std::nullopt;
    } else if (verb == "want") {
      const std::int64_t amount = testing::quantity(words.next()).scaled_value_saturated(-3);
      input_.wanted = {CpuMilli{amount}, MemoryBytes{amount}};
      answers.push_back(decide());
    } else {
      throw std::runtime_error(cat("unknown verb: ", verb));
    }
    words.expect_end();
    return answers;
  }

 private:
  void config(Words& words) {
    while (!words.empty()) {
      const std::string setting = words.next();
      const auto parts = base::split(setting, '=');
      const std::string key(parts.at(0));
      const std::string value(parts.at(1));
      if (key == "dead-band") {
        config_.dead_band_permille = std::stoll(value);
      } else if (key == "slew") {
        config_.slew_permille_per_minute = std::stoll(value);
      } else if (key == "hold") {
        config_.hold = testing::duration(value);
      } else if (key == "decay") {  // 6x5m
        const auto times = base::split(value, 'x');
        config_.decay_steps = std::stoll(std::string(times.at(0)));
        config_.decay_step = testing::duration(times.at(1));
      } else if (key == "forget") {
        config_.forget = testing::duration(value);
      } else {
        throw std::runtime_error(cat("unknown setting: ", key));
      }
    }
  }
  void node(Words& words) {
    while (!words.empty()) {
      const std::string what = words.next();
      const std::int64_t amount = testing::quantity(words.next()).scaled_value_saturated(-3);
      const Resources both{CpuMilli{amount}, MemoryBytes{amount}};
      if (what == "capacity") {
        input_.capacity = both;
      } else if (what == "carries") {
        input_.on_node = both;
      } else if (what == "least-ever") {
        input_.least_ever = both;
      } else {
        throw std::runtime_error(cat("a node has no ", what));
      }
    }
  }
  std::string decide() {
    auto step = move(state_, input_, config_, now_);
    state_ = step.state;
    constexpr std::array kNames{"fresh", "unconfirmed", "held", "decaying", "forgotten"};
    std::string line =
        cat("> ", step.plan.cpu.offered.value, "m  ", kNames.at(static_cast<std::size_t>(step.plan.freshness)), " [",
            model::reason_id(step.plan.cpu.reason), "]");
    if (step.plan.again_after) line += cat("  again after ", base::format_go_duration(*step.plan.again_after));
    EXPECT_EQ(step.plan.cpu.offered.value, step.plan.memory.offered.value);
    return line;
  }

  model::MotionConfig config_;
  MotionInput input_;
  MotionState state_;
  base::MonotonicTime now_{std::chrono::hours(1)};
  base::WallTime stamp_{std::chrono::hours(24 * 365 * 50)};
};

TEST(Motion, MovesAsTheFilesSay) {
  testing::play_scenarios("policy/sell/testdata/motion", 5, [] {
    return [scenario = std::make_shared<MotionScenario>()](std::string_view line) { return scenario->run(line); };
  });
}

// ---- properties ----

std::int64_t any_amount(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(random() % 3);
    case 1:
      return std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(random() % 3);
    case 2:
      return -static_cast<std::int64_t>(random() % 100'000);
    default:
      return static_cast<std::int64_t>(random() % 100'000);
  }
}
Resources any_resources(std::mt19937_64& random) {
  return {CpuMilli{any_amount(random)}, MemoryBytes{any_amount(random)}};
}

model::MotionConfig any_motion(std::mt19937_64& random) {
  model::MotionConfig config;
  config.dead_band_permille = static_cast<std::int64_t>(random() % 200);
  config.slew_permille_per_minute = static_cast<std::int64_t>(random() % 1'000);
  config.hold = std::chrono::seconds(random() % 600);
  config.decay_step = std::chrono::seconds(random() % 300);
  config.decay_steps = static_cast<std::int64_t>(random() % 10);
  config.forget = std::chrono::seconds(random() % 3'000);
  if (random() % 10 == 0) config.dead_band_permille = any_amount(random);
  if (random() % 10 == 0) config.slew_permille_per_minute = any_amount(random);
  if (random() % 10 == 0) config.decay_steps = any_amount(random);
  return config;
}

// A random life of one node: reports that come and stop, a clock that sometimes goes back, restarts.
TEST(MotionProperty, NeverNegativeNorAboveWantedAndGrowsOnlyOnFreshReports) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    const auto config = any_motion(random);
    MotionState state;
    MotionInput input;
    input.capacity = any_resources(random);
    base::MonotonicTime now{std::chrono::hours(1)};
    for (int i = 0; i < 200; ++i) {
      now = now + std::chrono::seconds(random() % 120);
      if (random() % 20 == 0) now = now + std::chrono::seconds(-300);
      input.wanted = any_resources(random);
      if (random() % 3 == 0) input.stamp = base::WallTime{std::chrono::seconds(random() % 100'000)};
      if (random() % 40 == 0) input.on_node = any_resources(random);
      if (random() % 10 == 0) input.least_ever = any_resources(random);
      if (random() % 50 == 0) state = MotionState();
      const auto before = state;
      const auto step = move(before, input, config, now);
      const auto offered = step.plan.offered();
      ASSERT_GE(offered.cpu.value, 0);
      ASSERT_GE(offered.memory.value, 0);
      if (step.plan.freshness != Freshness::kForgotten) {
        const auto last = before.offered ? before.offered->cpu : CpuMilli{0};
        ASSERT_LE(offered.cpu, std::max({input.wanted.cpu, last, CpuMilli{0}}));
      }
      const auto from = before.offered ? before.offered : input.on_node;
      if (step.plan.freshness != Freshness::kFresh && from) {
        ASSERT_LE(offered.cpu, std::max(from->cpu, CpuMilli{0})) << "seed " << seed;
        ASSERT_LE(offered.memory, std::max(from->memory, MemoryBytes{0})) << "seed " << seed;
      }
      if (from && input.wanted.cpu < from->cpu) {
        ASSERT_LE(offered.cpu, std::max(input.wanted.cpu, CpuMilli{0})) << "a cut was delayed, seed " << seed;
      }
      if (step.plan.again_after) ASSERT_GT(step.plan.again_after->count(), 0) << "seed " << seed;
      state = step.state;
    }
  }
}

// Without the least offer (a version that cannot read a newer format) the offer decays further, never less: from one
// state, through any silence, with and without it.
TEST(MotionProperty, UnknownLeastOfferNeverOffersMore) {
  int decayed = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    model::MotionConfig config;
    config.hold = std::chrono::seconds(random() % 600);
    config.decay_step = std::chrono::seconds(1 + random() % 300);
    config.decay_steps = static_cast<std::int64_t>(1 + random() % 10);
    MotionInput input;
    input.capacity = {CpuMilli{100'000}, MemoryBytes{100'000}};
    input.wanted = {CpuMilli{static_cast<std::int64_t>(random() % 100'000)}, MemoryBytes{50'000}};
    base::MonotonicTime now{std::chrono::hours(1)};
    MotionState knows;
    for (int report = 0; report < 3; ++report) {
      now = now + std::chrono::minutes(1);
      input.stamp = base::WallTime{now.since_start};
      knows = move(knows, input, config, now).state;
    }
    MotionState knows_not = knows;
    for (int look = 0; look < 60; ++look) {
      now = now + std::chrono::seconds(random() % 200);
      input.least_ever = Resources{CpuMilli{static_cast<std::int64_t>(random() % 120'000)}, MemoryBytes{20'000}};
      const auto before = knows_not.offered;
      const auto with = move(knows, input, config, now);
      auto blind = input;
      blind.least_ever.reset();
      const auto without = move(knows_not, blind, config, now);
      ASSERT_LE(without.plan.cpu.offered, with.plan.cpu.offered) << "seed " << seed;
      ASSERT_LE(without.plan.memory.offered, with.plan.memory.offered) << "seed " << seed;
      if (without.plan.freshness != Freshness::kFresh) {
        ASSERT_LE(without.plan.cpu.offered, before->cpu);
      }
      decayed += without.plan.freshness == Freshness::kDecaying ? 1 : 0;
      knows = with.state;
      knows_not = without.state;
    }
  }
  EXPECT_GT(decayed, 1'000);
}

// Over any time, however it is split into passes: growth is within the slew, with two minutes of credit at its start; a
// cut applies at the next pass.
TEST(MotionProperty, GrowthIsWithinTheSlewAndCutsAreImmediate) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    model::MotionConfig config;
    config.slew_permille_per_minute = 1 + static_cast<std::int64_t>(random() % 500);
    config.dead_band_permille = static_cast<std::int64_t>(random() % 50);
    config.hold = std::chrono::seconds(30 + random() % 600);
    config.forget = config.hold + std::chrono::seconds(random() % 4'000);
    MotionInput input;
    input.capacity = {CpuMilli{64'000}, MemoryBytes{1'000'000}};
    MotionState state;
    base::MonotonicTime now{std::chrono::hours(1)};
    std::vector<std::pair<base::MonotonicTime, Resources>> path;
    for (int i = 0; i < 150; ++i) {
      const auto pace = random() % 10;
      now = now + (pace == 0   ? base::Duration(std::chrono::hours(random() % 5))
                   : pace <= 3 ? base::Duration(std::chrono::minutes(random() % 8))
                               : base::Duration(std::chrono::milliseconds(random() % 20'000)));
      if (random() % 3 == 0) {
        input.wanted = {CpuMilli{static_cast<std::int64_t>(random() % 64'000)},
                        MemoryBytes{static_cast<std::int64_t>(random() % 1'000'000)}};
      }
      if (random() % 3 != 0) input.stamp = base::WallTime{now.since_start};
      const auto before = state.offered;
      const auto step = move(state, input, config, now);
      state = step.state;
      if (!state.offered) continue;
      const Resources offered = *state.offered;
      if (before) {
        ASSERT_LE(offered.cpu, std::max(input.wanted.cpu, before->cpu)) << "seed " << seed;
        if (input.wanted.cpu < before->cpu) {
          ASSERT_LE(offered.cpu, input.wanted.cpu) << "a cut was delayed, seed " << seed;
        }
        if (input.wanted.memory < before->memory) {
          ASSERT_LE(offered.memory, input.wanted.memory) << "a cut was delayed, seed " << seed;
        }
      } else {
        path.clear();
      }
      path.emplace_back(now, offered);
      for (const auto& [when, had] : path) {
        const double minutes = std::chrono::duration<double, std::ratio<60>>(now - when).count() + 2;
        const double share = static_cast<double>(config.slew_permille_per_minute) / 1000 * minutes;
        ASSERT_LE(static_cast<double>(offered.cpu.value), static_cast<double>(had.cpu.value) + share * 64'000 + 1)
            << "seed " << seed << " look " << i;
        ASSERT_LE(static_cast<double>(offered.memory.value),
                  static_cast<double>(had.memory.value) + share * 1'000'000 + 1)
            << "seed " << seed << " look " << i;
      }
    }
  }
}

// For any unheard time: the final offer is between the one with that time counted and the one without.
TEST(MotionProperty, UnheardTimeNeitherCutsNorGrows) {
  std::mt19937_64 random(3);
  int kept = 0;
  for (int i = 0; i < 2'000; ++i) {
    const model::MotionConfig config = any_motion(random);
    MotionInput input;
    input.capacity = {CpuMilli{64'000}, MemoryBytes{1'000'000}};
    input.stamp = base::WallTime{std::chrono::seconds(2)};
    input.wanted = {CpuMilli{static_cast<std::int64_t>(random() % 64'000)}, MemoryBytes{0}};
    MotionState state;
    state.offered = Resources{CpuMilli{static_cast<std::int64_t>(random() % 64'000)}, MemoryBytes{0}};
    state.stamp = input.stamp;
    state.stamp_moved = true;
    state.stamp_at = state.changed_at = base::MonotonicTime{std::chrono::hours(1)};
    const auto before = state.stamp_at + std::chrono::seconds(random() % 900);
    const base::Duration unheard = std::chrono::seconds(1 + random() % 9'000);
    const auto after = before + unheard;
    const auto deaf = without_unheard(state, unheard, config, after);
    const auto offered = move(deaf, input, config, after).plan.cpu.offered;
    EXPECT_GE(offered, move(state, input, config, after).plan.cpu.offered);
    if (after - state.stamp_at >= config.hold / 2) {
      EXPECT_LE(offered, state.offered->cpu) << "grown on an earlier report";
    }
    kept += offered > move(state, input, config, after).plan.cpu.offered ? 1 : 0;
    // The number of pieces does not matter.
    const base::Duration half = unheard / 2;
    auto pieces = without_unheard(state, half, config, before + half);
    pieces = without_unheard(pieces, unheard - half, config, after);
    EXPECT_EQ(pieces.stamp_at, deaf.stamp_at);
  }
  EXPECT_GT(kept, 200);
}

TEST(MotionProperty, TwoPassesOfferNoMoreThanOne) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2'000; ++i) {
    model::MotionConfig config;
    config.slew_permille_per_minute = static_cast<std::int64_t>(random() % 300);
    config.dead_band_permille = static_cast<std::int64_t>(random() % 50);
    MotionInput input;
    input.capacity = {CpuMilli{64'000}, MemoryBytes{1'000'000}};
    input.stamp = base::WallTime{std::chrono::seconds(2)};
    MotionState state;
    state.offered = Resources{CpuMilli{static_cast<std::int64_t>(random() % 64'000)}, MemoryBytes{0}};
    state.stamp = input.stamp;
    state.stamp_moved = true;
    input.wanted = {CpuMilli{static_cast<std::int64_t>(random() % 64'000)}, MemoryBytes{0}};
    const base::MonotonicTime start{};
    const auto middle = start + std::chrono::milliseconds(random() % 60'000);
    const auto end = middle + std::chrono::milliseconds(random() % 60'000);
    const auto once = move(state, input, config, end);
    const auto twice = move(move(state, input, config, middle).state, input, config, end);
    if (input.wanted.cpu > state.offered->cpu) EXPECT_LE(twice.plan.cpu.offered, once.plan.cpu.offered);
  }
}

}  // namespace
}  // namespace tidemark::policy::sell
