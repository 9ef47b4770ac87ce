#include "policy/admission/rotation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"

namespace tidemark::policy::admission {
namespace {

using namespace std::chrono_literals;
using base::Duration;
using base::WallTime;

constexpr WallTime kRotationStart{1'000'000h};

// The world around the rotation: what is stored, what clients trust, which certificate is shown. Clients hear of a
// change of trust, and servers of a new certificate, up to `delay` late.
struct World {
  Duration ca_lifetime = 300h;
  Duration serving_lifetime = 90h;
  Duration delay = 30s;
  WallTime now = kRotationStart;
  RotationFacts facts;
  RotationConfig config;
  int ca = 0;  // numbers of authorities
  int next = 0;
  int old = 0;
  int made = 0;
  struct Since {
    WallTime when;
    std::vector<int> value;
  };
  std::vector<Since> trusted{{kRotationStart, {}}};
  std::vector<Since> shown{{kRotationStart, {}}};
  std::vector<RotationStep> steps;

  std::vector<int> bundle() const {
    std::vector<int> list{ca};
    if (next != 0) list.push_back(next);
    if (old != 0) list.push_back(old);
    return list;
  }
  void trust(WallTime when) {
    trusted.push_back({when, bundle()});
    facts.next_trusted = true;
  }
  void issue() {
    const WallTime until = std::min(now + serving_lifetime, facts.ca->until);
    facts.serving = Validity{now, until};
    facts.serving_fits = true;
    shown.push_back({now, {ca}});
  }
  void carry_out(RotationStep step) {
    steps.push_back(step);
    switch (step) {
      case RotationStep::kNothing:
        return;
      case RotationStep::kMakeAll:
        facts = {};
        ca = ++made;
        next = old = 0;
        facts.ca = Validity{now, now + ca_lifetime};
        issue();
        break;
      case RotationStep::kIssueServing:
        issue();
        break;
      case RotationStep::kMakeNext:
        next = ++made;
        facts.next_ca = Validity{now, now + ca_lifetime};
        facts.next_since = now;
        break;
      case RotationStep::kPromoteNext:
        old = ca;
        ca = next;
        next = 0;
        facts.ca = facts.next_ca;
        facts.next_ca.reset();
        facts.next_since.reset();
        facts.next_trusted = false;
        facts.old_ca = true;
        facts.old_since = now;
        issue();
        break;
      case RotationStep::kDropOld:
        old = 0;
        facts.old_ca = false;
        facts.old_since.reset();
        break;
    }
    trust(now);
  }
  // Every state that a client or server may still be in sees one that knows it.
  std::string gap() const {
    const auto seen = [this](const std::vector<Since>& history) {
      std::vector<std::vector<int>> values;
      for (std::size_t i = 0; i < history.size(); ++i) {
        const bool over = i + 1 < history.size() && history[i + 1].when + delay <= now;
        if (!over) values.push_back(history[i].value);
      }
      return values;
    };
    for (const auto& shows : seen(shown)) {
      if (shows.empty()) continue;
      for (const auto& trusts : seen(trusted)) {
        if (trusts.empty()) continue;  // the very first time: no client has any authority yet
        if (std::find(trusts.begin(), trusts.end(), shows[0]) == trusts.end()) {
          return base::cat("authority ", shows[0], " is shown and not known");
        }
      }
    }
    return "";
  }
};

TEST(Rotation, CreatesEverythingFromNothing) {
  World world;
  EXPECT_EQ(next_rotation(world.facts, world.config, world.now).step, RotationStep::kMakeAll);
  world.carry_out(RotationStep::kMakeAll);
  const auto plan = next_rotation(world.facts, world.config, world.now);
  EXPECT_EQ(plan.step, RotationStep::kNothing);
  EXPECT_EQ(plan.again_after, 1h);
}

TEST(Rotation, ACertificateIsIssuedAnewAtTwoThirdsOfItsLifeOrWhenItDoesNotFit) {
  World world;
  world.carry_out(RotationStep::kMakeAll);
  world.now = kRotationStart + 60h + -1ns;
  EXPECT_EQ(next_rotation(world.facts, world.config, world.now).step, RotationStep::kNothing);
  world.now = kRotationStart + 60h;
  EXPECT_EQ(next_rotation(world.facts, world.config, world.now).step, RotationStep::kIssueServing);
  world.now = kRotationStart;
  world.facts.serving_fits = false;
  EXPECT_EQ(next_rotation(world.facts, world.config, world.now).step, RotationStep::kIssueServing);
}

TEST(Rotation, ReplacesWhatIsNotValidYet) {
  World world;
  world.carry_out(RotationStep::kMakeAll);
  // By a clock that was an hour ahead.
  world.facts.serving = Validity{kRotationStart + 1h, kRotationStart + 91h};
  EXPECT_EQ(next_rotation(world.facts, world.config, kRotationStart).step, RotationStep::kIssueServing);
  world.issue();
  world.facts.next_ca = Validity{kRotationStart + 1h, kRotationStart + 301h};
  world.facts.next_since = kRotationStart + -1h;
  world.facts.next_trusted = true;
  EXPECT_EQ(next_rotation(world.facts, world.config, kRotationStart).step, RotationStep::kNothing);
  world.facts.ca = Validity{kRotationStart + 1h, kRotationStart + 301h};
  EXPECT_EQ(next_rotation(world.facts, world.config, kRotationStart).step, RotationStep::kMakeAll);
  EXPECT_EQ(next_rotation(world.facts, world.config, kRotationStart + 1h).step, RotationStep::kPromoteNext);
}

TEST(Rotation, TheNextAuthoritySignsOnlyOnceItIsTrustedEverywhere) {
  World world;
  world.carry_out(RotationStep::kMakeAll);
  world.now = kRotationStart + 200h;
  world.issue();
  EXPECT_EQ(next_rotation(world.facts, world.config, world.now).step, RotationStep::kMakeNext);
  world.carry_out(RotationStep::kMakeNext);
  world.facts.next_trusted = false;
  world.now = world.now + 10h;
  EXPECT_EQ(next_rotation(world.facts, world.config, world.now).step, RotationStep::kNothing);
  world.facts.next_trusted = true;
  EXPECT_EQ(next_rotation(world.facts, world.config, world.now).step, RotationStep::kPromoteNext);
  world.facts.next_since = world.now;
  const auto plan = next_rotation(world.facts, world.config, world.now);
  EXPECT_EQ(plan.step, RotationStep::kNothing);
  EXPECT_EQ(plan.again_after, 1min);
  // At its end the present one is of no use: better one that not all know than none.
  world.facts.next_trusted = false;
  world.now = kRotationStart + 300h;
  EXPECT_EQ(next_rotation(world.facts, world.config, world.now).step, RotationStep::kPromoteNext);
}

TEST(Rotation, TheOldAuthorityStaysTrustedForAWhile) {
  World world;
  world.carry_out(RotationStep::kMakeAll);
  world.facts.old_ca = true;
  world.facts.old_since = kRotationStart;
  EXPECT_EQ(next_rotation(world.facts, world.config, kRotationStart + 59s).step, RotationStep::kNothing);
  EXPECT_EQ(next_rotation(world.facts, world.config, kRotationStart + 1min).step, RotationStep::kDropOld);
  world.facts.old_since = kRotationStart + 1h;  // by a clock that was wrong
  EXPECT_EQ(next_rotation(world.facts, world.config, kRotationStart).step, RotationStep::kDropOld);
}

// Through many rotations, with time passing in any steps and the process away for long: no gap, and it ends.
TEST(Rotation, NeverShowsAClientAnUntrustedCertificate) {
  base::Random random(11);
  for (int life = 0; life < 50; ++life) {
    World world;
    world.config.settle = 1min;
    for (int look = 0; look < 2000; ++look) {
      int in_a_row = 0;
      while (true) {
        const auto plan = next_rotation(world.facts, world.config, world.now);
        if (plan.step == RotationStep::kNothing) {
          EXPECT_GE(plan.again_after, 1s);
          world.now = world.now +
                      std::max<Duration>(Duration(random.below(static_cast<std::uint64_t>(Duration(2h).count()))), 1s);
          break;
        }
        world.carry_out(plan.step);
        ASSERT_EQ(world.gap(), "") << "after " << base::format_go_duration(world.now - kRotationStart);
        ASSERT_LT(++in_a_row, 5) << "it comes to rest";
      }
      ASSERT_EQ(world.gap(), "");
      ASSERT_LT(world.now, world.facts.serving->until);
    }
    EXPECT_GT(world.made, 5);
  }
}

}  // namespace
}  // namespace tidemark::policy::admission
