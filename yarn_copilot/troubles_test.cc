#include "yarn_copilot/troubles.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tidemark::yarn_copilot {
namespace {

using namespace std::chrono_literals;

class Troubles : public ::testing::Test {
 protected:
  // "id:word …", the troubles found now.
  std::string look(std::vector<Sighting> seen, base::Duration later = 1s) {
    now_ = now_ + later;
    auto ends = look_for_bad_ends(ends_, seen, now_);
    ends_ = std::move(ends.state);
    auto step = look_for_stuck(state_, seen, now_);
    state_ = std::move(step.state);
    stuck_ = step.stuck;
    std::string out;
    for (const auto& each : ends.found) out += base::cat(out.empty() ? "" : " ", each.id, ":", to_string(each.trouble));
    return out;
  }
  static Sighting one(std::string state, bool started = false, std::optional<std::int64_t> cpu_ns = {}) {
    return {"c", "spark", std::move(state), kKilled, false, started, cpu_ns};
  }
  static Sighting done(std::string id, std::int32_t exit_code) {
    return {std::move(id), "", "DONE", exit_code, false, false, {}};
  }
  static constexpr std::int32_t kKilled = -105;  // YARN's exit code of a container that its master ended
  static constexpr std::int32_t kNone = -1000;
  EndState ends_;
  StuckState state_;
  base::MonotonicTime now_{};
  std::map<std::string, std::int64_t> stuck_;
};

TEST_F(Troubles, CountsALocalizationFailureOnce) {
  EXPECT_EQ(look({one("LOCALIZING")}), "");
  EXPECT_EQ(look({one("LOCALIZATION_FAILED")}), "c:localization_failed");
  EXPECT_EQ(look({done("c", kNone)}), "");
  EXPECT_EQ(look({}), "") << "not again for its absence";
}

// A NodeManager removes the fetched files at once and is then done.
TEST_F(Troubles, CountsAnEndWithoutExitCodeAsLocalizationFailure) {
  EXPECT_EQ(look({}), "");
  EXPECT_EQ(look({done("c", kNone), done("d", kKilled)}), "c:localization_failed");
  EXPECT_EQ(look({one("RUNNING", true)}), "");
  EXPECT_EQ(look({done("c", kNone)}), "") << "it ran";
}

TEST_F(Troubles, CountsAnEndWithoutProcessAsNeverStarted) {
  EXPECT_EQ(look({one("LOCALIZING")}), "");
  EXPECT_EQ(look({one("CONTAINER_CLEANEDUP_AFTER_KILL")}), "c:never_started");
  EXPECT_EQ(look({done("c", kKilled)}), "");
  EXPECT_EQ(look({}), "");
}

// If the application has ended, a NodeManager lists none of its containers.
TEST_F(Troubles, CountsAWaitingContainerThatVanishedAsNeverStarted) {
  look({one("LOCALIZING")});
  EXPECT_EQ(look({}), "c:never_started");
  look({one("SCHEDULED")});
  EXPECT_EQ(look({}, kGoneUnseenMax + 1ms), "") << "it may have run since";
  look({one("RUNNING", true)});
  EXPECT_EQ(look({}), "");
}

TEST_F(Troubles, DoesNotCountAContainerThatRan) {
  EXPECT_EQ(look({one("RUNNING", true)}), "");
  EXPECT_EQ(look({one("DONE")}), "");
  EXPECT_EQ(look({}), "");
}

TEST_F(Troubles, CountsNothingThatEndedBeforeTheFirstPass) {
  EXPECT_EQ(look({one("EXITED_WITH_FAILURE"), done("d", kNone)}), "");
  // Later ones that start and end between two passes may have run.
  EXPECT_EQ(look({done("e", kKilled)}), "");
  EXPECT_EQ(look({done("f", kNone)}), "f:localization_failed");
}

TEST_F(Troubles, CountsTenMinutesOfWaitingForFilesAsStuck) {
  Sighting master = one("LOCALIZING");
  master.id = "m";
  master.master = true;
  look({one("LOCALIZING"), master});
  look({one("LOCALIZING"), master}, kStuckAfter);
  EXPECT_EQ(stuck_.at("spark"), 2);
  look({one("RUNNING", true, 7)}, 1s);
  EXPECT_EQ(stuck_.at("spark"), 0) << "it has started";
}

TEST_F(Troubles, CountsTenMinutesWithoutUsageAsStuck) {
  look({one("RUNNING", true, 1'000'000'000)});
  look({one("RUNNING", true, 1'100'000'000)}, kStuckAfter + -1s);
  EXPECT_EQ(stuck_.at("spark"), 0);
  look({one("RUNNING", true, 1'100'000'000)}, 1s);
  EXPECT_EQ(stuck_.at("spark"), 1);
  look({one("RUNNING", true, 1'600'000'000)}, 1s);
  EXPECT_EQ(stuck_.at("spark"), 0) << "it works again";
  look({one("RUNNING", true, 1'600'000'000)}, kStuckAfter);
  EXPECT_EQ(stuck_.at("spark"), 1);
  look({one("RUNNING", true, 5)}, 1s);
  EXPECT_EQ(stuck_.at("spark"), 0) << "it restarted";
}

TEST_F(Troubles, DoesNotCountMastersAndUnmeasuredContainersAsStuck) {
  Sighting master = one("RUNNING", true, 7);
  master.master = true;
  look({master, {"d", "spark", "RUNNING", kNone, false, true, std::nullopt}});
  look({master, {"d", "spark", "RUNNING", kNone, false, true, std::nullopt}}, 1h);
  EXPECT_TRUE(stuck_.empty());
}

TEST_F(Troubles, AcceptsAClassThatBecomesKnownLater) {
  look({{"c", "", "LOCALIZING", kNone, false, false, {}}});
  look({one("LOCALIZING")}, kStuckAfter);
  EXPECT_EQ(stuck_, (std::map<std::string, std::int64_t>{{"spark", 1}}));
}

}  // namespace
}  // namespace tidemark::yarn_copilot
