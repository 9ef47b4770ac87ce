#include "agent/tasks/pod_task.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/testing/testdata.h"
#include "base/text.h"
#include "kube/decode.h"

namespace tidemark::agent {
namespace {

using model::ContainerRole;
using model::ContainerState;
using model::CpuMilli;
using model::MemoryBytes;
using model::SaidAmounts;
using model::TaskSetting;

constexpr std::int64_t kMi = 1024 * 1024, kGi = 1024 * kMi;

SaidAmounts amounts(std::int64_t cpu_milli, std::int64_t memory_bytes) {
  return {CpuMilli{cpu_milli}, MemoryBytes{memory_bytes}};
}

struct PodTaskTest : ::testing::Test {
  kube::Interner interner;

  PodTask decode(std::string_view bytes, const PodSource& source = {}) {
    auto pod = decode_pod_task(bytes, source, interner);
    EXPECT_TRUE(pod) << pod.error().message;
    return pod ? *std::move(pod) : PodTask();
  }
  // Of the kubelet's list.
  PodTask listed(std::size_t at) {
    std::vector<PodTask> pods;
    const auto list =
        kube::decode_list(testing::testdata("kubelet_pods.json"), [&](std::string_view item) -> Result<void> {
          pods.push_back(decode(item, {"kubernetes", "prod-1", model::TaskProviderKind::kKubelet}));
          return {};
        });
    EXPECT_TRUE(list) << list.error().message;
    return pods.at(at);
  }
  // A pod with these members of metadata, spec and status beside its name.
  PodTask made(std::string_view meta, std::string_view spec = "", std::string_view status = "") {
    return decode(base::cat(R"({"metadata":{"name":"a","namespace":"n","uid":"u1")", meta.empty() ? "" : ",", meta,
                            R"(},"spec":{)", spec, R"(},"status":{)", status, "}}"));
  }
};

TEST_F(PodTaskTest, AnOnlinePod) {
  const PodTask pod = listed(0);
  const model::Task& task = pod.task;
  EXPECT_TRUE(pod.notes.empty());
  EXPECT_EQ(task.kind, model::TaskKind::kPod);
  EXPECT_EQ(task.provider, model::TaskProviderKind::kKubelet);
  const model::TaskIdentity identity{.source = "kubernetes",
                                     .cluster = "prod-1",
                                     .job = "shop/ReplicaSet/web-7d9c6b5f4",
                                     .attempt = "",
                                     .task = "11111111-2222-3333-4444-555555555555",
                                     .user = "",
                                     .business = "shop",
                                     .work_class = ""};
  EXPECT_EQ(task.identity, identity);
  EXPECT_EQ(task.ns, "shop");
  EXPECT_EQ(task.name, "web-7d9c6b5f4-abcde");
  EXPECT_EQ(task.path, "");

  EXPECT_EQ(task.qos_raw, model::Qos::kLsr);
  EXPECT_EQ(task.qos, model::Qos::kLsr);
  EXPECT_EQ(task.kube_qos, model::KubeQos::kGuaranteed);
  EXPECT_EQ(task.priority_raw, model::PriorityClass::kProd);
  EXPECT_EQ(task.priority, model::PriorityClass::kProd);
  EXPECT_EQ(task.priority_number, 9100);
  EXPECT_EQ(task.priority_value, 9100);
  EXPECT_EQ(task.sub_priority, std::nullopt);
  EXPECT_EQ(task.phase, model::PodPhase::kRunning);
  EXPECT_EQ(task.created, base::parse_rfc3339("2026-01-01T00:00:00Z"));
  EXPECT_EQ(task.started, base::parse_rfc3339("2026-01-01T00:00:02Z"));
  EXPECT_EQ(task.deleted, std::nullopt);
  EXPECT_TRUE(task.host_network);
  EXPECT_FALSE(task.fixed);

  EXPECT_FALSE(task.eviction_enabled);
  EXPECT_EQ(task.eviction_features, std::nullopt);
  EXPECT_EQ(task.cpuset, "0-1");
  EXPECT_EQ(task.numa_nodes, (std::vector<std::int32_t>{0, 1}));
  ASSERT_NE(task.setting(TaskSetting::kCpuBurst), nullptr);
  EXPECT_EQ(*task.setting(TaskSetting::kCpuBurst), R"({"policy":"auto"})");
  EXPECT_EQ(task.settings.size(), 1u);
}

// Running 2 + 0.5, starting 3: the migration counts; and the overhead.
TEST_F(PodTaskTest, ReadsRequestsAndLimits) {
  const model::Task task = listed(0).task;
  EXPECT_EQ(task.requests.native, amounts(3100, 2 * kGi + 256 * kMi + 64 * kMi));
  EXPECT_EQ(task.limits.native, amounts(3100, 2 * kGi + 256 * kMi + 64 * kMi));
  EXPECT_TRUE(task.requests.batch.none());
  EXPECT_TRUE(task.limits.batch.none());
}

TEST_F(PodTaskTest, ContainersOfAPod) {
  const std::vector<model::TaskContainer> containers = listed(0).task.containers;
  ASSERT_EQ(containers.size(), 4u);
  EXPECT_EQ(containers[0].name, "web");
  EXPECT_EQ(containers[0].role, ContainerRole::kMain);
  EXPECT_EQ(containers[0].state, ContainerState::kRunning);
  EXPECT_EQ(containers[0].runtime, "containerd");
  EXPECT_EQ(containers[0].id, "cccc3333");  // and not the one that died
  EXPECT_EQ(containers[0].requests.native, amounts(2000, 2 * kGi));
  EXPECT_EQ(containers[1].name, "migrate");
  EXPECT_EQ(containers[1].role, ContainerRole::kInit);
  EXPECT_EQ(containers[1].state, ContainerState::kTerminated);
  EXPECT_EQ(containers[2].name, "proxy");
  EXPECT_EQ(containers[2].role, ContainerRole::kSidecar);
  EXPECT_EQ(containers[2].id, "bbbb2222");
  EXPECT_EQ(containers[3].name, "debugger");
  EXPECT_EQ(containers[3].role, ContainerRole::kEphemeral);
}

TEST_F(PodTaskTest, AnOfflinePod) {
  const PodTask pod = listed(1);
  const model::Task& task = pod.task;
  EXPECT_TRUE(pod.notes.empty());
  EXPECT_EQ(task.identity.job, "nightly-etl");
  EXPECT_EQ(task.identity.user, "ada");
  EXPECT_EQ(task.identity.work_class, "spark");
  EXPECT_EQ(task.qos_raw, model::Qos::kBe);
  EXPECT_EQ(task.priority, model::PriorityClass::kBatch);
  EXPECT_EQ(task.sub_priority, -7);
  EXPECT_TRUE(task.eviction_enabled);
  EXPECT_TRUE(task.may_be_evicted_by("BECPUEvict"));
  EXPECT_FALSE(task.may_be_evicted_by("MemoryEvict"));
  EXPECT_EQ(task.eviction_priority, -3);
  EXPECT_EQ(task.deleted, base::parse_rfc3339("2026-01-01T02:00:00Z"));
  ASSERT_EQ(task.containers.size(), 3u);
  EXPECT_EQ(task.containers[0].state, ContainerState::kWaiting);
  EXPECT_EQ(task.containers[0].id, "");
}

// Contract 1.4 and 7.8: the specification counts, the annotation where that says nothing; containers without either are
// not considered, and the pod has no memory limit because the sidecar has none.
TEST_F(PodTaskTest, BatchResourcesOfTheSpecificationAndOfTheAnnotation) {
  const model::Task task = listed(1).task;
  EXPECT_EQ(task.containers[0].requests.batch, amounts(4000, 8 * kGi));
  EXPECT_EQ(task.containers[0].limits.batch, amounts(4000, 8 * kGi));
  EXPECT_EQ(task.containers[1].requests.batch, amounts(500, kGi));
  EXPECT_TRUE(task.containers[1].limits.batch.none());
  EXPECT_TRUE(task.containers[2].requests.batch.none());
  EXPECT_EQ(task.requests.batch, amounts(4500, 9 * kGi));
  EXPECT_TRUE(task.limits.batch.none());
  EXPECT_EQ(task.requests.native, amounts(0, 0));
}

TEST_F(PodTaskTest, ReadsStaticPod) {
  const model::Task task = listed(2).task;
  EXPECT_TRUE(task.fixed);
  EXPECT_EQ(task.identity.task, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(task.kube_qos, model::KubeQos::kBurstable);  // its status does not say
  EXPECT_EQ(task.qos_raw, model::Qos::kNone);
  EXPECT_EQ(task.qos, model::Qos::kLs);
  EXPECT_EQ(task.priority_raw, model::PriorityClass::kNone);
  EXPECT_EQ(task.priority, model::PriorityClass::kProd);
  EXPECT_EQ(task.priority_value, 2000001000);
  EXPECT_EQ(task.created, std::nullopt);
  EXPECT_TRUE(task.limits.native.none());
}

// Its group is named by the hash, not by the uid of the mirror.
TEST_F(PodTaskTest, ReadsMirrorPod) {
  const model::Task task =
      made(R"("annotations":{"kubernetes.io/config.hash":"feed","kubernetes.io/config.mirror":"feed"})").task;
  EXPECT_TRUE(task.fixed);
  EXPECT_EQ(task.identity.task, "feed");
  // Of a pod that only says so, and is no mirror, the uid counts.
  const model::Task other = made(R"("annotations":{"kubernetes.io/config.hash":"feed"})").task;
  EXPECT_FALSE(other.fixed);
  EXPECT_EQ(other.identity.task, "u1");
}

// docs/guide/evictions.md: what ending it would lose, and whether others depend on it.
TEST_F(PodTaskTest, ReadsLossOfEviction) {
  const model::Task told = made(R"("labels":{"tidemark.io/infrastructure":"true"},)"
                                R"("annotations":{"tidemark.io/progress":"70","tidemark.io/held-bytes":"1048576"})")
                               .task;
  EXPECT_TRUE(told.infrastructure);
  EXPECT_EQ(told.progress_percent, 70);
  EXPECT_EQ(told.held_bytes, 1048576);
  for (const char* wrong : {"", "-1", "101", "70%", "99999999999999999999", "many"}) {
    const PodTask spoilt = made(base::cat(R"("labels":{"tidemark.io/infrastructure":"yes"},"annotations":{)",
                                          R"("tidemark.io/progress":")", wrong, R"(","tidemark.io/held-bytes":")",
                                          std::string_view(wrong) == "101" ? "1e9" : wrong, R"("})"));
    EXPECT_FALSE(spoilt.task.infrastructure);
    EXPECT_EQ(spoilt.task.progress_percent, std::nullopt) << wrong;
    EXPECT_EQ(spoilt.task.held_bytes, std::nullopt) << wrong;
    EXPECT_EQ(spoilt.notes.size(), 2u) << wrong;
  }
}

TEST_F(PodTaskTest, ALimitCountsOnlyWhereEveryContainerHasOne) {
  const model::Task task = made("", R"("containers":[
      {"name":"a","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},
      {"name":"b","resources":{"limits":{"cpu":"0","memory":"1Gi"}}}])")
                               .task;
  EXPECT_EQ(task.limits.native.cpu, std::nullopt);  // 0 means no limit
  EXPECT_EQ(task.limits.native.memory, MemoryBytes{2 * kGi});
  EXPECT_EQ(task.containers[1].limits.native.cpu, std::nullopt);
}

TEST_F(PodTaskTest, LimitsOfTheWholePodReplaceTheSum) {
  const model::Task task = made("", R"("resources":{"limits":{"cpu":"3"}},"overhead":{"cpu":"250m"},"containers":[
      {"name":"a","resources":{"limits":{"memory":"1Gi"}}}])")
                               .task;
  EXPECT_EQ(task.limits.native, amounts(3250, kGi));
}

TEST_F(PodTaskTest, MidResources) {
  const model::Task task = made("", R"("containers":[{"name":"a","resources":{
      "requests":{"kubernetes.io/mid-cpu":"1k"},"limits":{"kubernetes.io/mid-cpu":"2k"}}}])")
                               .task;
  EXPECT_EQ(task.requests.mid.cpu, CpuMilli{1000});
  EXPECT_EQ(task.limits.mid.cpu, CpuMilli{2000});
  EXPECT_EQ(task.limits.mid.memory, std::nullopt);
  EXPECT_TRUE(task.requests.batch.none());
}

// Contract 1.4: bad JSON = none; invalid = 0.
TEST_F(PodTaskTest, UnreadableValueHasContractMeaningAndNote) {
  const PodTask pod = made(R"("labels":{"koordinator.sh/priority":"high"},"annotations":{
      "koordinator.sh/eviction-policy":"[\"BECPUEvict\"","koordinator.sh/eviction-priority":"99999999999",
      "scheduling.koordinator.sh/resource-status":"{\"cpuset\":\"3-1\"}",
      "node.koordinator.sh/extended-resource-spec":"{\"containers\":7}"})");
  EXPECT_EQ(pod.task.sub_priority, std::nullopt);
  ASSERT_TRUE(pod.task.eviction_features);
  EXPECT_TRUE(pod.task.eviction_features->empty());
  EXPECT_EQ(pod.task.eviction_priority, 0);
  EXPECT_EQ(pod.task.cpuset, "");
  ASSERT_EQ(pod.notes.size(), 5u);
  EXPECT_TRUE(pod.notes[0].starts_with("annotation node.koordinator.sh/extended-resource-spec: ")) << pod.notes[0];
  EXPECT_TRUE(pod.notes[1].starts_with("annotation koordinator.sh/eviction-policy: ")) << pod.notes[1];
  EXPECT_TRUE(pod.notes[2].starts_with("annotation koordinator.sh/eviction-priority: ")) << pod.notes[2];
  EXPECT_TRUE(pod.notes[3].starts_with("label koordinator.sh/priority: ")) << pod.notes[3];
  EXPECT_EQ(pod.notes[4],
            R"(annotation scheduling.koordinator.sh/resource-status: cpuset: the range "3-1" runs backwards)");
}

TEST_F(PodTaskTest, AnEmptyCoreSchedulingGroupIsAGroup) {
  const model::Task task = made(R"("labels":{"koordinator.sh/core-sched-group-id":""})").task;
  ASSERT_NE(task.setting(TaskSetting::kCoreSchedGroup), nullptr);
  EXPECT_EQ(*task.setting(TaskSetting::kCoreSchedGroup), "");
}

TEST_F(PodTaskTest, IsBounded) {
  const std::string long_text(model::kTaskSettingBytesMax + 1, 'x');
  const PodTask pod = made(base::cat(R"("annotations":{"koordinator.sh/memoryQOS":")", long_text, R"("})"));
  EXPECT_EQ(pod.task.setting(TaskSetting::kMemoryQos), nullptr);
  EXPECT_EQ(pod.notes.size(), 1u);

  std::string containers;
  for (std::size_t i = 0; i <= model::kTaskContainersMax; ++i) {
    containers += base::cat(i == 0 ? "" : ",", R"({"name":"c)", i, R"("})");
  }
  const auto many = decode_pod_task(
      base::cat(R"({"metadata":{"name":"a","uid":"u"},"spec":{"containers":[)", containers, "]}}"), {}, interner);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message, "Pod /a: 129 containers: at most 128");
}

TEST_F(PodTaskTest, RefusesInvalidPod) {
  for (const char* bytes :
       {"", "[]", "{}", R"({"metadata":{"name":"a"}})", R"({"kind":"Node","metadata":{"name":"a"}})",
        R"({"metadata":{"name":"a","uid":"u"},"status":{"containerStatuses":[{"name":7}]}})"}) {
    const auto pod = decode_pod_task(bytes, {}, interner);
    ASSERT_FALSE(pod) << bytes;
    EXPECT_EQ(pod.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(pod.error().message.starts_with("Pod")) << pod.error().message;
  }
}

TEST_F(PodTaskTest, PlacedWhereItsGroupIs) {
  const model::Task task = listed(0).task;
  linux::LivePod live;
  live.path = "kubepods/pod1";
  live.containers = {{"cccc3333", "kubepods/pod1/cccc3333"},
                     {"bbbb2222", "kubepods/pod1/bbbb2222"},
                     {"eeee5555", "kubepods/pod1/eeee5555"}};
  const model::Task out = placed(task, &live);
  EXPECT_EQ(out.path, "kubepods/pod1");
  ASSERT_EQ(out.containers.size(), 5u);
  EXPECT_EQ(out.containers[0].path, "kubepods/pod1/cccc3333");
  EXPECT_EQ(out.containers[1].path, "");  // the migration is over
  EXPECT_EQ(out.containers[2].path, "kubepods/pod1/bbbb2222");
  EXPECT_EQ(out.containers[4].role, ContainerRole::kUnlisted);  // the pause container, or one that is new
  EXPECT_EQ(out.containers[4].id, "eeee5555");
  EXPECT_EQ(out.containers[4].path, "kubepods/pod1/eeee5555");
  EXPECT_EQ(placed(task, nullptr), task);
}

}  // namespace
}  // namespace tidemark::agent
