#include "policy/protect/reaction/online_use.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace tidemark::policy::protect {
namespace {

using base::Duration;
using model::CpuMilli;
using std::chrono::milliseconds;

constexpr Duration kLook = milliseconds(25);

class Use : public ::testing::Test {
 protected:
  // So many milli-cores for so long, with a look each 25 ms.
  void uses(std::int64_t milli, Duration time, Duration look = kLook) {
    for (Duration done{0}; done < time; done += look) {
      now = now + look;
      used_ns += milli * look.count() / 1000;
      use.take({now, used_ns});
    }
  }
  std::optional<std::int64_t> risen(std::int64_t known) const {
    const auto out = use.risen_over(CpuMilli{known});
    return out ? std::optional(out->value) : std::nullopt;
  }

  OnlineUse use;
  base::MonotonicTime now{std::chrono::hours(1)};
  std::int64_t used_ns = 5'000'000'000;
};

TEST_F(Use, NeedsOneSecondOfSamples) {
  uses(4000, milliseconds(1000));
  EXPECT_EQ(risen(0), std::nullopt);
  uses(4000, milliseconds(25));
  EXPECT_EQ(risen(0), 0) << "it was as much lately";
}

TEST_F(Use, LargeRisesShowAtOnceSmallOnesWithinTheWindow) {
  uses(200, milliseconds(1500));
  EXPECT_EQ(risen(200), 0);
  uses(4200, milliseconds(25));
  EXPECT_EQ(risen(200), 1000) << "a quarter of the window at 4000 more";
  uses(4200, milliseconds(25));
  EXPECT_EQ(risen(200), 2000);
  uses(4200, milliseconds(50));
  EXPECT_EQ(risen(200), 4000);
  uses(200, milliseconds(100));
  EXPECT_EQ(risen(200), 0) << "the window is over";
}

TEST_F(Use, FirstSampleOfAGroupCausesNoRise) {
  uses(900, milliseconds(1500));
  EXPECT_EQ(risen(200), 0);
  EXPECT_EQ(risen(1000), -100);
}

TEST_F(Use, LateSamplesCoverTheirWholeInterval) {
  uses(200, milliseconds(1500));
  uses(1200, milliseconds(400), milliseconds(400));
  EXPECT_EQ(risen(200), 1000);
}

TEST_F(Use, ACounterThatGoesBackIsAnotherOne) {
  uses(200, milliseconds(1500));
  used_ns = 0;
  uses(4000, milliseconds(500));
  EXPECT_EQ(risen(200), std::nullopt);
}

TEST_F(Use, IsDefinedAtTheEndsOfNumbers) {
  use.take({now, 0});
  use.take({now + std::chrono::seconds(1), INT64_MAX});
  ASSERT_TRUE(use.risen_over({INT64_MIN}));
  EXPECT_GE(use.risen_over({INT64_MIN})->value, 0);
  EXPECT_LE(use.risen_over({INT64_MAX})->value, 0);
}

}  // namespace
}  // namespace tidemark::policy::protect
