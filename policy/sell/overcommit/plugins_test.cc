#include "policy/sell/overcommit/plugins.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark::policy::sell {
namespace {

std::string read(const std::vector<std::string>& words) {
  const auto plugins = parse_plugins(words);
  return plugins ? plugins_text(*plugins) : plugins.error().message;
}

const std::string kAll =
    "CPUNormalization,ResourceAmplification,MidResource,BatchResource,GPUDeviceResource,RDMADeviceResource";

// Contract 4.3: `--noderesource-plugins` (list, `*`, `-Name`), all on by default.
TEST(Plugins, AllAreOnByDefaultAndByAStar) {
  EXPECT_EQ(plugins_text({}), kAll);
  EXPECT_EQ(read({"*"}), kAll);
}

TEST(Plugins, EnablesOnlyNamedPlugins) {
  EXPECT_EQ(read({"BatchResource"}), "BatchResource");
  EXPECT_EQ(read({"BatchResource", "CPUNormalization"}), "CPUNormalization,BatchResource");
}

TEST(Plugins, ADashTakesOneAwayFromTheStarWhicheverComesFirst) {
  EXPECT_EQ(read({"*", "-MidResource", "-GPUDeviceResource", "-RDMADeviceResource"}),
            "CPUNormalization,ResourceAmplification,BatchResource");
  EXPECT_EQ(read({"-CPUNormalization", "*"}),
            "ResourceAmplification,MidResource,BatchResource,GPUDeviceResource,RDMADeviceResource");
}

TEST(Plugins, FirstEntryOfAPluginWins) {
  EXPECT_EQ(read({"BatchResource", "-BatchResource"}), "BatchResource");
  EXPECT_EQ(read({"-BatchResource", "BatchResource"}), "none");
}

TEST(Plugins, EmptyListEnablesNothing) {
  EXPECT_EQ(read({}), "none");
  EXPECT_EQ(read({"-BatchResource"}), "none");
}

TEST(Plugins, AMisspeltNameIsRefused) {
  EXPECT_EQ(read({"*", "-BatchResouce"}), "unknown plugin \"BatchResouce\"; did you mean BatchResource?");
  EXPECT_EQ(read({"Elsewhere"}),
            "unknown plugin \"Elsewhere\"; known plugins: CPUNormalization, ResourceAmplification, "
            "MidResource, BatchResource, GPUDeviceResource, RDMADeviceResource");
  EXPECT_EQ(read({"--BatchResource"}), "unknown plugin \"-BatchResource\"; did you mean BatchResource?");
  EXPECT_EQ(read({"-*"}).substr(0, 23), "unknown plugin \"*\"; kno");
}

}  // namespace
}  // namespace tidemark::policy::sell
