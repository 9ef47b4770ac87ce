#include "yarn_copilot/local_victim.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tidemark::yarn_copilot {
namespace {

using namespace std::chrono_literals;

LocalHolder holder(std::string id, std::string application, int age_s, bool master = false) {
  return {std::move(id), {"ada", std::move(application)}, master, base::WallTime{std::chrono::seconds(1000 - age_s)}};
}

std::string chosen(const std::vector<LocalHolder>& holders, const LocalUse& use, std::int64_t too_much = 1,
                   LocalFree frees = LocalFree::kOfApplication) {
  const auto at = choose_local_victim(holders, use, too_much, frees);
  return at ? holders[*at].id : "nobody";
}

const std::vector<LocalHolder> kAll = {holder("big-master", "big", 300, true), holder("big-old", "big", 200),
                                       holder("big-new", "big", 10), holder("small", "small", 1)};

TEST(LocalVictim, TakesTheLargestContainerOfTheLargestApplication) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 1000}, {{"ada", "small"}, 900}};
  use.containers = {{"big-old", 600}, {"big-new", 300}, {"small", 900}};
  EXPECT_EQ(chosen(kAll, use), "big-old");
}

// Blocks and shuffle files belong to all of its containers.
TEST(LocalVictim, TakesTheNewestIfNoContainerHoldsMuch) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 1000}};
  use.containers = {{"big-old", 200}, {"big-new", 100}};
  EXPECT_EQ(chosen(kAll, use), "big-new");
  use.containers["big-old"] = 250;
  EXPECT_EQ(chosen(kAll, use), "big-old");
}

TEST(LocalVictim, TakesMastersOnlyWhenNoOtherIsLeft) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 1000}};
  use.containers = {{"big-master", 1000}};
  EXPECT_EQ(chosen(kAll, use), "big-new");
  EXPECT_EQ(chosen({kAll[0], kAll[3]}, use), "big-master");
}

TEST(LocalVictim, TakesNoneForDataOfEndedContainers) {
  LocalUse use;
  EXPECT_EQ(chosen(kAll, use), "nobody");
  use.applications = {{{"ada", "ended"}, 1000}, {{"eve", "big"}, 1000}};
  EXPECT_EQ(chosen(kAll, use), "nobody") << "ended, or a directory of another user with that name";
  EXPECT_EQ(chosen({}, use), "nobody");
}

// Localized for all, or left behind: ending every container would not help.
TEST(LocalVictim, TakesNoneIfAllTogetherHoldLessThanTheExcess) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 600}, {{"ada", "small"}, 300}};
  EXPECT_EQ(chosen(kAll, use, 901), "nobody");
  EXPECT_EQ(chosen(kAll, use, 900), "big-new");
}

TEST(LocalVictim, TakesOneWithoutProcessesAsNewestAndHandlesLargeNumbers) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, std::numeric_limits<std::int64_t>::max()}};
  use.containers = {{"big-old", std::numeric_limits<std::int64_t>::max() / 8}};
  std::vector<LocalHolder> all = kAll;
  all[1].began.reset();
  EXPECT_EQ(chosen(all, use), "big-old");
}

TEST(LocalVictim, SkipsContainersWithoutOwnDataIfOnlyThatCounts) {
  LocalUse use;
  use.applications = {{{"ada", "big"}, 1000}, {{"ada", "small"}, 300}};
  use.containers = {{"big-master", 40}, {"small", 100}};
  EXPECT_EQ(chosen(kAll, use, 100, LocalFree::kOwn), "small");
  EXPECT_EQ(chosen(kAll, use, 141, LocalFree::kOwn), "nobody");
  use.containers["big-old"] = 70;
  EXPECT_EQ(chosen(kAll, use, 1, LocalFree::kOwn), "big-old") << "the application that frees most; its master last";
}

// From pass to pass: every ten seconds.
struct LocalEndsTest : ::testing::Test {
  std::string look() {
    now = now + 10s;
    LocalStep step = step_local_ends(std::move(ends), holders, use, 100, now);
    ends = std::move(step.ends);
    if (step.no_victim_helps) return "no victim helps";
    return step.victim ? holders[*step.victim].id : "";
  }
  void asked(std::string_view id) {
    for (LocalHolder& each : holders) each.ending |= each.id == id;
  }
  void ended(std::string_view id) {
    std::erase_if(holders, [&](const LocalHolder& each) { return each.id == id; });
  }

  std::vector<LocalHolder> holders = kAll;
  LocalUse use;
  LocalEnds ends;
  base::MonotonicTime now;
};

TEST_F(LocalEndsTest, TakesTheNextWhenTheDirectoryOfTheLastIsGone) {
  use.bytes = 1000;
  use.applications = {{{"ada", "big"}, 1000}};
  use.containers = {{"big-old", 600}, {"big-new", 400}};
  EXPECT_EQ(look(), "big-old");
  asked("big-old");
  EXPECT_EQ(look(), "") << "it is still ending";
  ended("big-old");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(), "") << "its NodeManager removes the directory";
  use.bytes = 400;
  use.applications = {{{"ada", "big"}, 400}};
  use.containers.erase("big-old");
  EXPECT_EQ(look(), "big-new");
  use.bytes = 100;
  EXPECT_EQ(look(), "");
  EXPECT_EQ(ends, LocalEnds()) << "below the limit no state is kept";
}

TEST_F(LocalEndsTest, DoesNotWaitForeverForADirectoryToBeRemoved) {
  use.bytes = 1000;
  use.applications = {{{"ada", "big"}, 1000}};
  use.containers = {{"big-old", 600}, {"big-new", 400}};
  EXPECT_EQ(look(), "big-old");
  ended("big-old");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(look(), "");
  EXPECT_EQ(look(), "big-new");
}

// Shuffle files stay until the application ends: otherwise all of its containers would end in vain.
TEST_F(LocalEndsTest, StopsAfterEndsWithoutEffect) {
  use.bytes = 1000;
  use.applications = {{{"ada", "big"}, 950}};
  for (const char* id : {"big-new", "big-old"}) {
    EXPECT_EQ(look(), id);
    ended(id);
    EXPECT_EQ(look(), "");
  }
  EXPECT_EQ(look(), "no victim helps") << "the master and all others stay";
  use.bytes = 900;
  EXPECT_EQ(look(), "no victim helps") << "even if usage fell for another reason";
  use.containers = {{"small", 800}};
  EXPECT_EQ(look(), "small") << "a container that holds the data itself still ends";
}

TEST_F(LocalEndsTest, ContinuesWhileEndsFreeSharedData) {
  use.bytes = 1000;
  use.applications = {{{"ada", "big"}, 950}};
  for (const char* id : {"big-new", "big-old", "big-master"}) {
    EXPECT_EQ(look(), id);
    ended(id);
    use.bytes -= 10;  // Spark blocks went with it
    EXPECT_EQ(look(), "");
  }
}

TEST_F(LocalEndsTest, RepeatsALostOrder) {
  use.bytes = 1000;
  use.applications = {{{"ada", "big"}, 1000}};
  EXPECT_EQ(look(), "big-new");
  EXPECT_EQ(look(), "big-new") << "the request failed";
}

}  // namespace
}  // namespace tidemark::yarn_copilot
