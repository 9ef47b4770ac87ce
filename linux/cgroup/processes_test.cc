#include "linux/cgroup/processes.h"

#include <gtest/gtest.h>

#include "linux/cgroup/limit.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

struct ProcessesTest : ::testing::Test {
  testing::Tree tree;
  Buffer buffer;
  std::optional<Hierarchies> hierarchies;

  Group group() {
    testing::make_v2(tree);
    testing::make_v2_group(tree, "", "a");
    hierarchies = Hierarchies::discover(tree.root(), "").value();
    return std::move(*Group::open(*hierarchies, "a").value());
  }
};

TEST_F(ProcessesTest, WhichProcesses) {
  const Group a = group();
  tree.write("a/cgroup.procs", "12\n0\n7\n");
  std::vector<pid_t> out = {99};
  EXPECT_TRUE(read_processes(a, File::kProcesses, buffer, out).value());
  EXPECT_EQ(out, (std::vector<pid_t>{12, 7}));
  EXPECT_EQ(foreign_processes("12\n0\n7\n0\n"), 2u);
  EXPECT_EQ(foreign_processes(""), 0u);
  tree.write("a/cgroup.procs", "12\nx\n");
  EXPECT_FALSE(read_processes(a, File::kProcesses, buffer, out));
  for (const std::string_view text : {"-1\n", "99999999999\n", "\n", "1 2\n"})
    EXPECT_FALSE(parse_processes(text, out)) << text;
}

}  // namespace
}  // namespace tidemark::linux
