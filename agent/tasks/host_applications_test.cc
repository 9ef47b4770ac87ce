#include "agent/tasks/host_applications.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/testing/node.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

std::string one(std::string_view members) {
  return base::cat(R"({"hostApplications":[{"name":"app",)", members, "}]}");
}

struct HostApplicationsTest : testing::NodeTest {
  HostApplications provider{*groups, log};

  void know_kubelet() {
    make_levels();
    ASSERT_TRUE(groups->look());
  }
  // "name@path" of each.
  std::string listed() {
    std::vector<std::string> texts;
    for (const TaskPointer& task : provider.provided().tasks) texts.push_back(base::cat(task->name, "@", task->path));
    return base::join(texts, " ");
  }
  std::string path_of(std::string_view members) {
    const auto set = provider.set(one(members), clock.monotonic());
    if (!set) return set.error().message;
    return provider.provided().tasks.empty() ? "refused" : provider.provided().tasks[0]->path;
  }
};

// Contract 7.12: base/parentDir/relativePath, else host-latency-sensitive/<name> or host-best-effort/<name>.
TEST_F(HostApplicationsTest, FindsTheirGroups) {
  know_kubelet();
  EXPECT_EQ(path_of(R"("qos":"LS")"), "host-latency-sensitive/app");
  EXPECT_EQ(path_of(R"("qos":"LSR","cgroupPath":null)"), "host-latency-sensitive/app");
  EXPECT_EQ(path_of(R"("qos":"BE")"), "host-best-effort/app");
  EXPECT_EQ(path_of(R"("priority":"koord-prod")"), "app");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"CgroupRoot","parentDir":"a","relativePath":"b/c/"})"), "a/b/c");
  EXPECT_EQ(path_of(R"("cgroupPath":{"relativePath":"b"})"), "b");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"Kubepods","relativePath":"x"})"), "kubepods/x");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"KubepodsBurstable","relativePath":"x"})"), "kubepods/burstable/x");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"KubepodsBesteffort","relativePath":"hadoop-yarn/"})"),
            "kubepods/besteffort/hadoop-yarn");
}

TEST_F(HostApplicationsTest, WithTheDriverOfSystemd) {
  tree.folder("kubepods.slice/kubepods-besteffort.slice");
  ASSERT_TRUE(groups->look());
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"KubepodsBesteffort","relativePath":"hadoop-yarn/"})"),
            "kubepods.slice/kubepods-besteffort.slice/hadoop-yarn");
}

TEST_F(HostApplicationsTest, RefusesRootAndKubeletGroups) {
  know_kubelet();
  EXPECT_EQ(path_of(R"("cgroupPath":{})"), "refused");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"CgroupRoot","relativePath":"/"})"), "refused");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"Kubepods"})"), "refused");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"Kubepods","relativePath":"besteffort"})"), "refused");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"CgroupRoot","relativePath":"kubepods/burstable/"})"), "refused");
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"KubepodsBesteffort","relativePath":"../../x"})"), "refused");
  EXPECT_NE(lines.find("leads up"), std::string::npos) << lines;
  EXPECT_NE(lines.find("which is the whole node"), std::string::npos) << lines;
}

// The reader of a report sums its host applications: one that is listed twice would count twice (contract 3.1, 5.2).
TEST_F(HostApplicationsTest, FirstOfTwoWithSameNameCounts) {
  const std::string twice =
      R"({"hostApplications":[{"name":"app","qos":"LS"},{"name":"app","qos":"BE"},{"name":"b","cgroupPath":{"relativePath":"x"}}]})";
  ASSERT_TRUE(provider.set(twice, clock.monotonic()));
  EXPECT_EQ(listed(), "app@host-latency-sensitive/app b@x");
  EXPECT_EQ(provider.provided().refused, 1u);
  EXPECT_NE(lines.find("another one has the name"), std::string::npos) << lines;
  lines.clear();
  know_kubelet();  // groups change: they are placed anew
  EXPECT_EQ(lines.find("another one has the name"), std::string::npos) << "once is enough";
}

TEST_F(HostApplicationsTest, WaitsForKubeletGroups) {
  EXPECT_EQ(path_of(R"("cgroupPath":{"base":"KubepodsBesteffort","relativePath":"x"})"), "");
  const auto before = provider.provided().change;
  know_kubelet();
  EXPECT_EQ(listed(), "app@kubepods/besteffort/x");
  EXPECT_NE(provider.provided().change, before);
}

// Copilot contract 13: CPU suppression counts it as BE. Contract 7.3: its qos is BE and its base KubepodsBesteffort.
TEST_F(HostApplicationsTest, HaveTheirClass) {
  know_kubelet();
  ASSERT_TRUE(provider.set(
      one(R"("priority":"koord-batch","qos":"BE","cgroupPath":{"base":"KubepodsBesteffort","relativePath":"hadoop-yarn/"})"),
      clock.monotonic()));
  const model::Task yarn = *provider.provided().tasks.at(0);
  EXPECT_EQ(yarn.kind, model::TaskKind::kHostApplication);
  EXPECT_EQ(yarn.identity.source, "host");
  EXPECT_EQ(yarn.identity.task, "app");
  EXPECT_EQ(yarn.qos, model::Qos::kBe);
  EXPECT_EQ(yarn.priority, model::PriorityClass::kBatch);
  EXPECT_TRUE(yarn.below_besteffort);
  ASSERT_TRUE(provider.set(one(R"("qos":"BE")"), clock.monotonic()));
  EXPECT_FALSE(provider.provided().tasks.at(0)->below_besteffort);
  ASSERT_TRUE(provider.set(one(R"("qos":"LS")"), clock.monotonic()));
  EXPECT_EQ(provider.provided().tasks.at(0)->priority_raw, model::PriorityClass::kNone);
  EXPECT_EQ(provider.provided().tasks.at(0)->priority, model::PriorityClass::kProd);
}

TEST_F(HostApplicationsTest, TheSameAgainIsNoChange) {
  EXPECT_EQ(provider.provided().state, ProviderState::kWaiting);
  ASSERT_TRUE(provider.set(one(R"("qos":"LS")"), clock.monotonic()));
  const auto change = provider.provided().change;
  clock.advance(1s);
  ASSERT_TRUE(provider.set(one(R"("qos":"LS","strategy":{})"), clock.monotonic()));
  EXPECT_EQ(provider.provided().change, change);
  EXPECT_EQ(provider.provided().confirmed, clock.monotonic());
  ASSERT_TRUE(provider.set("", clock.monotonic()));
  EXPECT_EQ(listed(), "");
  EXPECT_EQ(provider.provided().state, ProviderState::kCurrent);
}

// Else one bad word in a NodeSLO keeps a node from being reported after each start.
TEST_F(HostApplicationsTest, UnreadableNodeSloIsNotAwaitedAtStart) {
  EXPECT_FALSE(provider.set(R"({"hostApplications":[{"name":7}]})", clock.monotonic()));
  EXPECT_EQ(provider.provided().state, ProviderState::kHeld);
  EXPECT_EQ(provider.provided().confirmed, std::nullopt);
  EXPECT_EQ(provider.provided().lists_refused, 1u);
  EXPECT_EQ(listed(), "");
  ASSERT_TRUE(provider.set(one(R"("qos":"LS")"), clock.monotonic()));
  EXPECT_EQ(provider.provided().state, ProviderState::kCurrent);
}

TEST_F(HostApplicationsTest, UnreadableNodeSloKeepsTheLast) {
  ASSERT_TRUE(provider.set(one(R"("qos":"LS")"), clock.monotonic()));
  for (const char* bad :
       {"[]", "{", R"({"hostApplications":{}})", R"({"hostApplications":[{"cgroupPath":{"base":"Nowhere"}}]})",
        R"({"hostApplications":[{"name":7}]})"}) {
    const auto refused = provider.set(bad, clock.monotonic());
    ASSERT_FALSE(refused) << bad;
    EXPECT_TRUE(refused.error().message.starts_with("hostApplications of a NodeSLO: ")) << refused.error().message;
    EXPECT_EQ(listed(), "app@host-latency-sensitive/app");
    EXPECT_EQ(provider.provided().state, ProviderState::kHeld);
  }
  std::string many = R"({"hostApplications":[{"name":"a0"})";
  for (std::size_t i = 1; i <= kHostApplicationsMax; ++i) many += base::cat(R"(,{"name":"a)", i, R"("})");
  EXPECT_FALSE(provider.set(many + "]}", clock.monotonic()));
}

}  // namespace
}  // namespace tidemark::agent
