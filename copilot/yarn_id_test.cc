#include "copilot/yarn_id.h"

#include <gtest/gtest.h>

namespace tidemark::copilot {
namespace {

TEST(YarnId, NamesApplicationAndAttempt) {
  const auto id = parse_yarn_container("container_1700000000000_0001_01_000002");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->application, "application_1700000000000_0001");
  EXPECT_EQ(id->attempt, "appattempt_1700000000000_0001_000001");
  EXPECT_EQ(id->number, 2);
  EXPECT_FALSE(id->master());
  EXPECT_TRUE(parse_yarn_container("container_1700000000000_0001_02_000001")->master());
}

TEST(YarnId, ReadsIdOfRestartedResourceManager) {
  const auto id = parse_yarn_container("container_e17_1700000000000_12345_100_000002");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->application, "application_1700000000000_12345");
  EXPECT_EQ(id->attempt, "appattempt_1700000000000_12345_000100");
}

TEST(YarnId, IgnoresOtherNames) {
  for (const char* name :
       {"", "container", "container_1_2_3", "container_1_2_3_4_5", "container_x1_1_2_3_4", "container_e_1_2_3_4",
        "container_1_2_3_x", "container_1_2__4", "task_1_2_3_4", "podx", "container_1_2_3_99999999999999999999"}) {
    EXPECT_FALSE(parse_yarn_container(name)) << name;
  }
}

}  // namespace
}  // namespace tidemark::copilot
