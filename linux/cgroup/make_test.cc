#include "linux/cgroup/make.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "linux/testing/own_group.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

std::string text(const std::string& path) {
  std::ifstream file(path);
  std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!all.empty() && all.back() == '\n') all.pop_back();
  return all;
}
bool is_there(const std::string& path) {
  struct stat seen{};
  return ::stat(path.c_str(), &seen) == 0;
}

// On the machine's own hierarchies: only a kernel knows what it takes.
struct MakeGroup : ::testing::Test {
  void SetUp() override {
    auto seen = Hierarchies::discover(testing::kMachineRoot, text("/proc/self/mountinfo"));
    if (!seen) GTEST_SKIP() << seen.error().message;
    hierarchies.emplace(std::move(*seen));
    own.emplace(*hierarchies);
    if (!own->complete()) GTEST_SKIP() << "this user makes no groups";
  }
  std::string below(std::string_view name) const { return base::cat(own->name(), "/", name); }
  std::optional<Hierarchies> hierarchies;
  std::optional<testing::OwnGroup> own;
};

TEST_F(MakeGroup, IsInEveryHierarchyAndTakesAProcessThere) {
  ASSERT_TRUE(make_group(*hierarchies, below("kubepods/besteffort/pod1")));
  ASSERT_TRUE(make_group(*hierarchies, below("kubepods/besteffort/pod1"))) << "once more changes nothing";
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  for (const std::string& file : process_files(*hierarchies, below("kubepods/besteffort/pod1"))) {
    std::ofstream procs(file);
    EXPECT_TRUE(procs << child << std::flush) << file;
    procs.close();
    EXPECT_EQ(text(file), std::to_string(child)) << file;
  }
  const auto refused = remove_group(*hierarchies, below("kubepods"));
  ASSERT_FALSE(refused) << "a process is in it";
  EXPECT_NE(refused.error().message.find("kubepods"), std::string::npos) << refused.error().message;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(remove_group(*hierarchies, below("kubepods")));
  EXPECT_TRUE(remove_group(*hierarchies, below("kubepods"))) << "there is nothing to remove";
  for (const Hierarchy& one : hierarchies->all()) EXPECT_FALSE(is_there(one.path + "/" + below("kubepods")));
}

TEST_F(MakeGroup, KeepsExistingCpuset) {
  const auto cpuset = hierarchies->of(Controller::kCpuset);
  if (!cpuset) GTEST_SKIP() << "nothing here sets CPUs of groups";
  ASSERT_TRUE(make_group(*hierarchies, below("a")));
  const std::string file = base::cat(hierarchies->all()[*cpuset].path, "/", below("a"), "/cpuset.cpus");
  {
    std::ofstream(file) << "0" << std::flush;
  }
  ASSERT_TRUE(make_group(*hierarchies, below("a/b")));
  EXPECT_EQ(text(file), "0");
  // v1 copies, v2 has it by being below.
  const bool v1 = hierarchies->all()[*cpuset].version == Version::kV1;
  const std::string inner = v1 ? "/cpuset.cpus" : "/cpuset.cpus.effective";
  EXPECT_EQ(text(base::cat(hierarchies->all()[*cpuset].path, "/", below("a/b"), inner)), "0");
  EXPECT_TRUE(remove_group(*hierarchies, below("a")));
}

// As a kubelet leaves its groups: with io for none of them.
TEST(MakeGroupOfV2, EnablesNeededControllersThatExist) {
  const std::string kubelets = "cpuset cpu memory hugetlb pids\n";
  testing::Tree tree;
  testing::make_v2(tree, "cpuset cpu io memory hugetlb pids\n");
  tree.write("cgroup.subtree_control", kubelets);
  tree.write("kubepods/cgroup.controllers", kubelets);
  tree.write("kubepods/cgroup.subtree_control", "");
  testing::make_v2_group(tree, "", "kubepods");
  const auto hierarchies = Hierarchies::discover(tree.root(), "");
  ASSERT_TRUE(hierarchies) << hierarchies.error().message;

  const Controllers limits = controllers_of({Controller::kCpu, Controller::kMemory, Controller::kPids});
  ASSERT_TRUE(make_group(*hierarchies, "kubepods/ours", {}, limits));
  EXPECT_EQ(text(tree.path("cgroup.subtree_control")) + "\n", kubelets);
  EXPECT_EQ(text(tree.path("kubepods/cgroup.subtree_control")), "+cpu +memory +pids");
  EXPECT_TRUE(is_there(tree.path("kubepods/ours")));

  ASSERT_TRUE(make_group(*hierarchies, "kubepods/ours", {}, controllers_of({Controller::kIo})));
  EXPECT_TRUE(text(tree.path("cgroup.subtree_control")).starts_with("+io")) << "the kernel has it";

  tree.remove("kubepods/cgroup.subtree_control");
  const auto refused = make_group(*hierarchies, "kubepods/ours");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.contains(tree.path("kubepods") + ": there is no cgroup.subtree_control"))
      << refused.error().message;
}

TEST_F(MakeGroup, NamesThatLeadElsewhereAreRefused) {
  for (const char* wrong : {"", "/", "a/../b", ".."}) {
    EXPECT_EQ(make_group(*hierarchies, wrong).error().kind, ErrorKind::kInvalid) << wrong;
    EXPECT_EQ(remove_group(*hierarchies, wrong).error().kind, ErrorKind::kInvalid) << wrong;
  }
}

}  // namespace
}  // namespace tidemark::linux
