#include "agent/tasks/group_path.h"

#include <gtest/gtest.h>

#include <string>

#include "model/task.h"

namespace tidemark::agent {
namespace {

TEST(GroupPath, IsFromTheRootOfEachHierarchy) {
  EXPECT_EQ(group_path("kubepods/besteffort/hadoop-yarn/c1"), "kubepods/besteffort/hadoop-yarn/c1");
  EXPECT_EQ(group_path("/kubepods//besteffort/./x/"), "kubepods/besteffort/x");
  EXPECT_EQ(group_path(""), "");
  EXPECT_EQ(group_path("/"), "");
  EXPECT_EQ(group_path("..a/b..c/..."), "..a/b..c/...");
  EXPECT_EQ(group_path({"kubepods.slice/", "", "hadoop-yarn/"}), "kubepods.slice/hadoop-yarn");
}

TEST(GroupPath, NeverLeadsUp) {
  for (const char* path : {"..", "../x", "a/..", "a/../b", "/..", "a/.././../b"}) {
    const auto refused = group_path(path);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(refused.error().message.find("leads up"), std::string::npos) << refused.error().message;
  }
  EXPECT_FALSE(group_path({"a", "../b"}));
}

TEST(GroupPath, IsAPathThatTheKernelAccepts) {
  EXPECT_FALSE(group_path(std::string("a\0b", 3)));
  EXPECT_FALSE(group_path("a\nb"));
  EXPECT_FALSE(group_path("a\x7f"));
  EXPECT_TRUE(group_path(std::string(255, 'a')));
  EXPECT_FALSE(group_path(std::string(256, 'a')));
  std::string deep;
  while (deep.size() < model::kTaskPathBytesMax) deep += "/a";
  EXPECT_TRUE(group_path(deep));
  EXPECT_FALSE(group_path(deep + "/a"));
  EXPECT_FALSE(group_path({deep, "aa"}));
}

TEST(GroupPath, StaysBelowTheParentThatIsAllowed) {
  EXPECT_EQ(group_path_below("yarn", "/yarn/c1"), "yarn/c1");
  EXPECT_EQ(group_path_below("", "yarn"), "yarn");
  EXPECT_FALSE(group_path_below("yarn", "yarn"));
  EXPECT_FALSE(group_path_below("yarn", "yarn/"));
  EXPECT_FALSE(group_path_below("yarn", "yarn2/c1"));
  EXPECT_FALSE(group_path_below("yarn", "kubepods/podx"));
  EXPECT_FALSE(group_path_below("", ""));
  const auto refused = group_path_below("yarn", "kubepods/podx");
  EXPECT_EQ(refused.error().message,
            R"(the group "kubepods/podx" is not below "yarn", where this source may have groups)");
}

}  // namespace
}  // namespace tidemark::agent
