#include "kerberos/renewal.h"

#include <gtest/gtest.h>

namespace tidemark::kerberos {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

base::WallTime at(base::Duration since_epoch) {
  return {since_epoch};
}

TEST(RenewalTest, RenewsAfterFourFifthsOfTheLifetime) {
  EXPECT_EQ(until_renewal(0, 36000, at(seconds(0))), hours(8));
  EXPECT_EQ(until_renewal(0, 36000, at(hours(7))), hours(1));
  EXPECT_EQ(until_renewal(100, 110, at(seconds(100) + milliseconds(500))), milliseconds(7500));
}

TEST(RenewalTest, WaitsAtLeastASecond) {
  EXPECT_EQ(until_renewal(0, 36000, at(hours(8))), seconds(1));
  EXPECT_EQ(until_renewal(0, 36000, at(hours(100))), seconds(1));
  EXPECT_EQ(until_renewal(100, 101, at(seconds(100))), seconds(1));
  EXPECT_EQ(until_renewal(100, 50, at(seconds(100))), seconds(1));  // it ended before it started
}

TEST(RenewalTest, BacksOffAfterFailuresUpToAMinute) {
  EXPECT_EQ(until_retry(1), seconds(1));
  EXPECT_EQ(until_retry(2), seconds(2));
  EXPECT_EQ(until_retry(6), seconds(32));
  EXPECT_EQ(until_retry(7), minutes(1));
  EXPECT_EQ(until_retry(1'000'000), minutes(1));
}

}  // namespace
}  // namespace tidemark::kerberos
