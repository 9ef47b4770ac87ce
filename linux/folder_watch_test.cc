#include "linux/folder_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

struct FolderWatchTest : ::testing::Test {
  testing::Tree tree;
  Place place{tree.root(), {}, {}};
  FolderWatch watch = std::move(*FolderWatch::open());

  Directory directory(std::string_view relative) { return std::move(*open_directory(tree.path(relative)).value()); }

  // "made a", "gone b" …, all that there is now
  std::vector<std::string> changes() {
    std::vector<std::string> out;
    for (;;) {
      const auto change = watch.next();
      EXPECT_TRUE(change) << change.error().message;
      if (!change || !*change) return out;
      constexpr const char* kNames[] = {"made ", "gone ", "closed", "lost"};
      out.push_back(kNames[static_cast<int>((*change)->kind)] + std::string((*change)->name));
    }
  }
};

TEST_F(FolderWatchTest, FoldersThatComeAndGoAndNoFiles) {
  const Directory root = directory("");
  ASSERT_TRUE(watch.add(root, place).value());
  EXPECT_TRUE(changes().empty());
  tree.folder("pod1");
  tree.write("file", "x");
  tree.write("pod1/file", "x");
  EXPECT_EQ(changes(), std::vector<std::string>{"made pod1"});
  tree.remove("pod1");
  tree.remove("file");
  EXPECT_EQ(changes(), std::vector<std::string>{"gone pod1"});
}

TEST_F(FolderWatchTest, EachChangeNamesItsWatch) {
  tree.folder("a");
  tree.folder("b");
  const Directory a = directory("a"), b = directory("b");
  const auto first = watch.add(a, place).value(), second = watch.add(b, place).value();
  EXPECT_NE(first, second);
  EXPECT_EQ(watch.add(a, place).value(), first);
  tree.folder("b/x");
  const auto change = watch.next();
  ASSERT_TRUE(change && *change);
  EXPECT_EQ((*change)->watch, second);
  watch.remove(*second);
  EXPECT_EQ(changes(), std::vector<std::string>{"closed"});
  tree.folder("b/y");
  EXPECT_TRUE(changes().empty());
}

TEST_F(FolderWatchTest, AWatchedFolderThatGoesIsClosed) {
  tree.folder("a");
  {
    const Directory a = directory("a");
    ASSERT_TRUE(watch.add(a, place).value());
  }
  tree.remove("a");
  EXPECT_EQ(changes(), std::vector<std::string>{"closed"});
}

TEST_F(FolderWatchTest, ReturnsChangesOneByOne) {
  const Directory root = directory("");
  ASSERT_TRUE(watch.add(root, place).value());
  constexpr int kMany = 500;
  for (int i = 0; i < kMany; ++i) tree.folder("a-name-that-is-not-so-short-" + std::to_string(i));
  const auto all = changes();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kMany));
  EXPECT_EQ(all.back(), "made a-name-that-is-not-so-short-499");
}

}  // namespace
}  // namespace tidemark::linux
