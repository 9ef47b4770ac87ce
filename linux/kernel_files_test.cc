#include "linux/kernel_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

struct KernelFiles : ::testing::Test {
  testing::Tree tree;
  Place place{tree.root(), {}, {}};
  Directory root = std::move(*open_directory(tree.root()).value());
};

// Both ways to open hold the same promise.
TEST_F(KernelFiles, OpenBeneathStaysBeneath) {
  tree.folder("a/b");
  tree.write("file", "x");
  ASSERT_EQ(::symlink("a", tree.path("link").c_str()), 0);
  ASSERT_EQ(::symlink("../..", tree.path("a/out").c_str()), 0);
  for (const auto open : {open_beneath, open_beneath_in_steps}) {
    const auto found = open(root.fd.get(), "a/b", place);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->identity, open_directory(tree.path("a/b")).value()->identity);
    EXPECT_EQ(open(root.fd.get(), "", place).value()->identity, root.identity);
    EXPECT_FALSE(open(root.fd.get(), "a/c", place).value());
    for (const std::string_view path : {"link", "link/b", "a/out", "a/out/etc", "file", "file/x"}) {
      const auto refused = open(root.fd.get(), path, place);
      ASSERT_FALSE(refused) << path;
      EXPECT_EQ(refused.error().kind, ErrorKind::kIo) << refused.error().message;
    }
    for (const std::string_view path : {"/a", "a/", "a//b", "..", "a/../a", ".", "./a"}) {
      EXPECT_EQ(open(root.fd.get(), path, place).error().kind, ErrorKind::kInvalid) << path;
    }
    EXPECT_FALSE(open(root.fd.get(), std::string(300, 'x'), place)) << "longer than a name can be";
  }
}

TEST_F(KernelFiles, TextsAreReadWholeOrFromTheBeginning) {
  tree.write("file", "one\ntwo\nthree");
  const Folder folder = Folder::open(tree.root()).value();
  Buffer small(10), enough(100);
  EXPECT_EQ(folder.read("file", enough).value(), "one\ntwo\nthree");
  EXPECT_EQ(folder.read("file", small).error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(folder.read_beginning("file", small).value(), "one\ntwo\n") << "up to the last whole line";
  EXPECT_EQ(folder.read_beginning("file", enough).value(), "one\ntwo\nthree");
  EXPECT_FALSE(folder.read("nowhere", enough).value());
  EXPECT_FALSE(read_path(tree.path("nowhere"), enough).value());
  EXPECT_EQ(Folder::open(tree.path("nowhere")).error().kind, ErrorKind::kNotFound);
}

TEST_F(KernelFiles, FoldersAreListedWithoutFilesAndLinks) {
  tree.folder("b");
  tree.folder("a");
  tree.write("file", "x");
  ASSERT_EQ(::symlink("a", tree.path("link").c_str()), 0);
  std::vector<std::string> names = {"left over"};
  EXPECT_TRUE(list_folders(root.fd.get(), names, place).value());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(list_folders(root.fd.get(), names, place).value()) << "once more from the beginning";
  EXPECT_EQ(names.size(), 2u);
}

}  // namespace
}  // namespace tidemark::linux
