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
  // "id:class:word …", what was found now.
  std::string look(std::vector<Sighting> seen, base::Duration later = 10s) {
    now_ = now_ + later;
    auto step = look_for_troubles(state_, seen, now_);
    state_ = std::move(step.state);
    stuck_ = step.report.stuck;
    std::string out;
    for (const auto& each : step.report.found) {
      out += base::cat(out.empty() ? "" : " ", each.id, ":", each.work_class, ":", to_string(each.trouble));
    }
    return out;
  }
  static Sighting one(std::string state, bool started = false, std::optional<std::int64_t> cpu_ns = {}) {
    return {"c", "spark", std::move(state), false, started, cpu_ns};
  }
  TroubleState state_;
  base::MonotonicTime now_{};
  std::map<std::string, std::int64_t> stuck_;
};

TEST_F(Troubles, AFailureToFetchItsFilesCountsOnce) {
  EXPECT_EQ(look({one("LOCALIZING")}), "");
  EXPECT_EQ(look({one("LOCALIZATION_FAILED")}), "c:spark:localization_failed");
  EXPECT_EQ(look({one("LOCALIZATION_FAILED")}), "");
  EXPECT_EQ(look({}), "") << "not for its absence too";
}

TEST_F(Troubles, OneThatEndsWithoutAProcessNeverStarted) {
  EXPECT_EQ(look({one("LOCALIZING")}), "");
  EXPECT_EQ(look({one("EXITED_WITH_FAILURE")}), "c:spark:never_started");
  EXPECT_EQ(look({}), "");
  EXPECT_EQ(look({one("SCHEDULED")}), "");
  EXPECT_EQ(look({}), "") << "it may have run between two looks";
}

TEST_F(Troubles, OneThatRanDidStart) {
  EXPECT_EQ(look({one("RUNNING", true)}), "");
  EXPECT_EQ(look({one("DONE")}), "");
  EXPECT_EQ(look({}), "");
}

TEST_F(Troubles, OfOneThatHadEndedBeforeNobodyKnows) {
  EXPECT_EQ(look({one("EXITED_WITH_FAILURE"), {"d", "", "LOCALIZATION_FAILED", false, false, {}}}), "");
  // Later ones that come and end between two looks may have run.
  EXPECT_EQ(look({{"e", "", "EXITED_WITH_FAILURE", false, false, {}}}), "");
  EXPECT_EQ(look({{"f", "etl", "LOCALIZATION_FAILED", false, false, {}}}), "f:etl:localization_failed");
}

TEST_F(Troubles, OneThatUsesNothingForTenMinutesIsStuck) {
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
  EXPECT_EQ(stuck_.at("spark"), 0) << "it began anew";
}

TEST_F(Troubles, MastersAndWhatNobodyCountsAreNotStuck) {
  Sighting master = one("RUNNING", true, 7);
  master.master = true;
  look({master, {"d", "spark", "RUNNING", false, true, std::nullopt}});
  look({master, {"d", "spark", "RUNNING", false, true, std::nullopt}}, 1h);
  EXPECT_TRUE(stuck_.empty());
}

TEST_F(Troubles, ItsClassMayBeKnownLater) {
  look({{"c", "", "LOCALIZING", false, false, {}}});
  look({one("LOCALIZING")});
  EXPECT_EQ(look({{"c", "", "LOCALIZATION_FAILED", false, false, {}}}), "c:spark:localization_failed");
}

}  // namespace
}  // namespace tidemark::yarn_copilot
