#include "model/pod.h"

#include <gtest/gtest.h>

namespace tidemark::model {
namespace {

ContainerResources requests(std::int64_t cpu, std::int64_t memory) {
  return {{{cpu}, {memory}}, {}, false};
}
ContainerResources sidecar(std::int64_t cpu, std::int64_t memory) {
  return {{{cpu}, {memory}}, {}, true};
}
Resources both(std::int64_t cpu, std::int64_t memory) {
  return {{cpu}, {memory}};
}

TEST(EffectiveRequest, IsTheSumOfContainersAndOverhead) {
  PodResources pod;
  pod.containers = {requests(100, 10), requests(200, 20)};
  pod.overhead = both(5, 7);
  EXPECT_EQ(effective_request(pod), both(305, 37));
}

TEST(EffectiveRequest, AnInitContainerCountsWhereItNeedsMoreThanTheRest) {
  PodResources pod;
  pod.containers = {requests(100, 10), requests(200, 20)};
  pod.init_containers = {requests(250, 50), requests(400, 5)};
  EXPECT_EQ(effective_request(pod), both(400, 50));
}

TEST(EffectiveRequest, ASidecarRunsBesideLaterInitContainersAndTheContainers) {
  PodResources pod;
  pod.containers = {requests(100, 0)};
  pod.init_containers = {requests(500, 0), sidecar(50, 0), requests(480, 0)};
  EXPECT_EQ(effective_request(pod).cpu, CpuMilli{530});  // the third one beside the sidecar
  pod.init_containers = {requests(480, 0), sidecar(50, 0)};
  EXPECT_EQ(effective_request(pod).cpu, CpuMilli{480});  // the first one ran before the sidecar
  pod.init_containers = {sidecar(50, 0), sidecar(70, 0)};
  EXPECT_EQ(effective_request(pod).cpu, CpuMilli{220});
  pod.containers.clear();
  EXPECT_EQ(effective_request(pod).cpu, CpuMilli{120});
}

TEST(EffectiveRequest, ThePodLevelReplacesEachResourceThatItSets) {
  PodResources pod;
  pod.containers = {requests(100, 10)};
  pod.overhead = both(5, 7);
  pod.pod_level = PodLevelResources{};
  EXPECT_EQ(effective_request(pod), both(105, 17));
  pod.pod_level->cpu_request = CpuMilli{1000};
  EXPECT_EQ(effective_request(pod), both(1005, 17));
  pod.pod_level->memory_request = MemoryBytes{3};
  EXPECT_EQ(effective_request(pod), both(1005, 10));
}

ContainerResources limited(Resources request, Resources limit) {
  return {request, limit, false};
}

TEST(KubeQosOf, NothingSetIsBestEffort) {
  PodResources pod;
  EXPECT_EQ(kube_qos(pod), KubeQos::kBestEffort);
  pod.containers = {requests(0, 0), requests(0, 0)};
  EXPECT_EQ(kube_qos(pod), KubeQos::kBestEffort);
}

TEST(KubeQosOf, GuaranteedNeedsBothLimitsInEveryContainerEqualToTheRequests) {
  PodResources pod;
  pod.containers = {limited(both(100, 10), both(100, 10))};
  EXPECT_EQ(kube_qos(pod), KubeQos::kGuaranteed);
  pod.init_containers = {limited(both(100, 10), both(100, 0))};
  EXPECT_EQ(kube_qos(pod), KubeQos::kBurstable);
  pod.init_containers = {limited(both(1, 1), both(1, 1))};
  EXPECT_EQ(kube_qos(pod), KubeQos::kGuaranteed);
  pod.containers = {limited(both(100, 10), both(200, 10))};
  EXPECT_EQ(kube_qos(pod), KubeQos::kBurstable);
  pod.containers = {requests(100, 0)};
  EXPECT_EQ(kube_qos(pod), KubeQos::kBurstable);
  pod.containers = {limited(both(100, 10), both(100, 10)), requests(0, 0)};
  EXPECT_EQ(kube_qos(pod), KubeQos::kBurstable);
}

TEST(KubeQosOf, ThePodLevelDecidesWhereItIsSet) {
  PodResources pod;
  pod.containers = {requests(100, 10)};
  pod.pod_level = PodLevelResources{CpuMilli{1}, MemoryBytes{1}, CpuMilli{1}, MemoryBytes{1}};
  EXPECT_EQ(kube_qos(pod), KubeQos::kGuaranteed);
  pod.pod_level->cpu_limit.reset();
  EXPECT_EQ(kube_qos(pod), KubeQos::kBurstable);
  pod.pod_level = PodLevelResources{};
  EXPECT_EQ(kube_qos(pod), KubeQos::kBestEffort);
}

TEST(PodPhaseText, UnknownTextIsUnknown) {
  for (const auto phase : {PodPhase::kPending, PodPhase::kRunning, PodPhase::kSucceeded, PodPhase::kFailed}) {
    EXPECT_EQ(parse_pod_phase(to_string(phase)), phase);
  }
  EXPECT_EQ(parse_pod_phase("Evicted"), PodPhase::kUnknown);
  EXPECT_EQ(to_string(PodPhase::kUnknown), "Unknown");
}

}  // namespace
}  // namespace tidemark::model
