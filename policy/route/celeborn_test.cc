#include "policy/route/celeborn.h"

#include <gtest/gtest.h>

namespace tidemark::policy::route {
namespace {

Version version(std::string_view text) {
  return *parse_version(text);
}

std::map<std::string, std::string> settings(std::string_view spark, std::string_view celeborn, std::int64_t workers = 3,
                                            bool dynamic_allocation = false) {
  return celeborn_settings(version(spark), {"master-1:9097", version(celeborn)}, {workers}, "ads", "ann",
                           dynamic_allocation);
}

TEST(Celeborn, VersionIsReadFromAnImagesVersion) {
  EXPECT_EQ(version("3.5.9"), (Version{.major = 3, .minor = 5, .patch = 9}));
  EXPECT_EQ(version("0.6.0-SNAPSHOT"), (Version{.major = 0, .minor = 6, .patch = 0}));
  EXPECT_EQ(version("4.1"), (Version{.major = 4, .minor = 1, .patch = 0}));
  for (const std::string_view wrong : {"", "3", "3.x", "3.5.1.2", "-1.0"}) EXPECT_FALSE(parse_version(wrong)) << wrong;
}

// Each row: a Spark, a Celeborn, and whether one serves the other.
TEST(Celeborn, ServesTheSparkOfItsLine) {
  struct Row {
    std::string_view spark;
    std::string_view celeborn;
    bool served;
  };
  constexpr Row kRows[] = {
      {"2.4.8", "0.6.0", false}, {"3.0.0", "0.6.0", true}, {"3.5.9", "0.6.3", true},  {"4.0.2", "0.6.3", true},
      {"4.1.0", "0.6.3", false}, {"4.2.0", "0.7.0", true}, {"4.3.0", "0.7.0", false}, {"3.5.9", "0.5.4", false},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(not_for_celeborn(version(row.spark), {"m:9097", version(row.celeborn)}).empty(), row.served)
        << row.spark << " with " << row.celeborn;
  }
}

// Each row: a Spark, a Celeborn, a property, and its value; "" is absent.
TEST(Celeborn, SettingsDependOnBothVersions) {
  struct Row {
    std::string_view spark;
    std::string_view celeborn;
    std::string key;
    std::string_view value;
  };
  const Row rows[] = {
      {"3.3.0", "0.6.0", "spark.shuffle.manager", "org.apache.spark.shuffle.celeborn.SparkShuffleManager"},
      {"3.3.0", "0.6.0", "spark.shuffle.service.enabled", "false"},
      {"3.3.0", "0.6.0", "spark.sql.adaptive.localShuffleReader.enabled", "false"},
      {"3.3.0", "0.6.0", "spark.serializer", "org.apache.spark.serializer.KryoSerializer"},
      {"3.3.0", "0.6.0", "spark.celeborn.client.spark.shuffle.fallback.policy", "NEVER"},
      {"3.3.0", "0.6.0", "spark.celeborn.client.shuffle.integrityCheck.enabled", ""},
      {"3.3.0", "0.6.1", "spark.celeborn.client.shuffle.integrityCheck.enabled", "true"},
      {"3.4.3", "0.6.0", "spark.shuffle.sort.io.plugin.class", ""},
      {"3.5.0", "0.6.0", "spark.shuffle.sort.io.plugin.class",
       "org.apache.spark.shuffle.celeborn.CelebornShuffleDataIO"},
      {"3.5.0", "0.6.0", "spark.dynamicAllocation.shuffleTracking.enabled", ""},
  };
  for (const Row& row : rows) {
    const auto found = settings(row.spark, row.celeborn);
    const auto at = found.find(row.key);
    EXPECT_EQ(at == found.end() ? "" : at->second, row.value) << row.key << " of Spark " << row.spark;
  }
}

TEST(Celeborn, DynamicAllocationNeedsNoShuffleTracking) {
  constexpr std::string_view kKey = "spark.dynamicAllocation.shuffleTracking.enabled";
  EXPECT_FALSE(settings("3.3.0", "0.6.0", 3, true).contains(std::string(kKey)));
  EXPECT_EQ(settings("3.4.0", "0.6.0", 3, true).at(std::string(kKey)), "false");
}

TEST(Celeborn, OneWorkerHasNoReplica) {
  constexpr std::string_view kKey = "spark.celeborn.client.push.replicate.enabled";
  EXPECT_EQ(settings("3.5.0", "0.6.0", 1).at(std::string(kKey)), "false");
  EXPECT_EQ(settings("3.5.0", "0.6.0", 2).at(std::string(kKey)), "true");
}

TEST(Celeborn, QuotaIsOfTheTenantAndTheUser) {
  const auto found = settings("3.5.0", "0.6.0");
  EXPECT_EQ(found.at("spark.celeborn.identity.user-specific.tenant"), "ads");
  EXPECT_EQ(found.at("spark.celeborn.identity.user-specific.userName"), "ann");
}

TEST(Celeborn, NamesThePropertyThatKeepsShuffleDataLocal) {
  EXPECT_EQ(shuffles_elsewhere({}), "");
  EXPECT_EQ(shuffles_elsewhere({{"spark.shuffle.manager", "sort"}}), "spark.shuffle.manager=sort");
  EXPECT_TRUE(shuffles_elsewhere({{"spark.celeborn.client.spark.shuffle.fallback.policy", "AUTO"}}).contains("AUTO"));
}

}  // namespace
}  // namespace tidemark::policy::route
