#include "yarn_copilot/local_victim.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::yarn_copilot {
namespace {

LocalHolder holder(std::string id, std::string application, int age_s, bool master = false) {
  return {std::move(id), {"ada", std::move(application)}, master, base::WallTime{std::chrono::seconds(1000 - age_s)}};
}

std::string chosen(const std::vector<LocalHolder>& holders, const LocalUse& use, std::int64_t too_much = 1) {
  const auto at = choose_local_victim(holders, use, too_much);
  return at ? holders[*at].id : "nobody";
}

const std::vector<LocalHolder> kAll = {holder("big-master", "big", 300, true), holder("big-old", "big", 200),
                                       holder("big-new", "big", 10), holder("small", "small", 1)};

TEST(LocalVictim, OfTheApplicationThatHoldsMostWhoHoldsMostHimself) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 1000}, {{"ada", "small"}, 900}};
  use.containers = {{"big-old", 600}, {"big-new", 300}, {"small", 900}};
  EXPECT_EQ(chosen(kAll, use), "big-old");
}

// Blocks and shuffle files are of all its containers.
TEST(LocalVictim, WhereNobodyHoldsMuchHimselfTheNewest) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 1000}};
  use.containers = {{"big-old", 200}, {"big-new", 100}};
  EXPECT_EQ(chosen(kAll, use), "big-new");
  use.containers["big-old"] = 250;
  EXPECT_EQ(chosen(kAll, use), "big-old");
}

TEST(LocalVictim, MastersGoWhenNobodyElseOfItsApplicationIsLeft) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 1000}};
  use.containers = {{"big-master", 1000}};
  EXPECT_EQ(chosen(kAll, use), "big-new");
  EXPECT_EQ(chosen({kAll[0], kAll[3]}, use), "big-master");
}

TEST(LocalVictim, NobodyForWhatNobodyWhoRunsHolds) {
  LocalUse use;
  EXPECT_EQ(chosen(kAll, use), "nobody");
  use.applications = {{{"ada", "ended"}, 1000}, {{"eve", "big"}, 1000}};
  EXPECT_EQ(chosen(kAll, use), "nobody") << "ended, or of somebody who gave his folder that name";
  EXPECT_EQ(chosen({}, use), "nobody");
}

// What was localized for all, or left behind: ending everybody would not help.
TEST(LocalVictim, NobodyWhereAllOfThemTogetherDoNotHoldWhatIsTooMuch) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 600}, {{"ada", "small"}, 300}};
  EXPECT_EQ(chosen(kAll, use, 901), "nobody");
  EXPECT_EQ(chosen(kAll, use, 900), "big-new");
}

TEST(LocalVictim, OneWithoutProcessesYetIsTheNewestAndNumbersMayBeLarge) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, std::numeric_limits<std::int64_t>::max()}};
  use.containers = {{"big-old", std::numeric_limits<std::int64_t>::max() / 8}};
  std::vector<LocalHolder> all = kAll;
  all[1].began.reset();
  EXPECT_EQ(chosen(all, use), "big-old");
}

}  // namespace
}  // namespace tidemark::yarn_copilot
