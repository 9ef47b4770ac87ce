// Names in the API: extended resources, labels and annotations. They are Koordinator's; Tidemark's own start with
// tidemark.io/.
#pragma once

#include <string>
#include <string_view>

#include "base/strong.h"

namespace tidemark::model {

// A machine: a type of its own, so that it is not mixed up with the name of a pod or a pool.
struct NodeName : base::Strong<NodeName, std::string> {
  using Strong::Strong;
};

// Extended resources. CPU is a whole number of milli-cores, memory a whole number of bytes.
inline constexpr std::string_view kBatchCpu = "kubernetes.io/batch-cpu";
inline constexpr std::string_view kBatchMemory = "kubernetes.io/batch-memory";
inline constexpr std::string_view kMidCpu = "kubernetes.io/mid-cpu";
inline constexpr std::string_view kMidMemory = "kubernetes.io/mid-memory";

// Labels of pods.
inline constexpr std::string_view kQosClassLabel = "koordinator.sh/qosClass";
// The timeliness class of offline work: classes of tidemark-config.
inline constexpr std::string_view kClassLabel = "tidemark.io/class";
// The job of a pod; without it, the controlling owner is the job.
inline constexpr std::string_view kJobLabel = "tidemark.io/job";
inline constexpr std::string_view kPriorityClassLabel = "koordinator.sh/priority-class";
inline constexpr std::string_view kPriorityLabel = "koordinator.sh/priority";
inline constexpr std::string_view kEvictionEnabledLabel = "koordinator.sh/eviction-enabled";
inline constexpr std::string_view kCoreSchedGroupLabel = "koordinator.sh/core-sched-group-id";
inline constexpr std::string_view kCoreSchedPolicyLabel = "koordinator.sh/core-sched-policy";
// The business and the user of the work; for YARN, application tags of the same names. On a node: the business that
// owns it.
inline constexpr std::string_view kBusinessLabel = "tidemark.io/business";
inline constexpr std::string_view kUserLabel = "tidemark.io/user";
// "true": other work of this node depends on it (a NodeManager, a shuffle worker): it is evicted last.
inline constexpr std::string_view kInfrastructureLabel = "tidemark.io/infrastructure";
inline constexpr std::string_view kSkipEnhancedValidationLabel = "pod.koordinator.sh/skip-enhanced-validation";

// Annotations of pods.
inline constexpr std::string_view kResourceStatusAnnotation = "scheduling.koordinator.sh/resource-status";
inline constexpr std::string_view kExtendedResourceSpecAnnotation = "node.koordinator.sh/extended-resource-spec";
inline constexpr std::string_view kReservePodAnnotation = "scheduling.koordinator.sh/reserve-pod";
inline constexpr std::string_view kEvictionPolicyAnnotation = "koordinator.sh/eviction-policy";
inline constexpr std::string_view kEvictionPriorityAnnotation = "koordinator.sh/eviction-priority";
inline constexpr std::string_view kCpuBurstAnnotation = "koordinator.sh/cpuBurst";
inline constexpr std::string_view kCpuQosAnnotation = "koordinator.sh/cpuQOS";
inline constexpr std::string_view kMemoryQosAnnotation = "koordinator.sh/memoryQOS";
inline constexpr std::string_view kBlkioQosAnnotation = "koordinator.sh/blkioQOS";
inline constexpr std::string_view kNetworkQosAnnotation = "koordinator.sh/networkQOS";
inline constexpr std::string_view kOomScoreAdjAnnotation = "koordinator.sh/oom-score-adj";
inline constexpr std::string_view kOomScoreAdjSpecAnnotation = "koordinator.sh/oom-score-adj-spec";
inline constexpr std::string_view kResctrlAnnotation = "node.koordinator.sh/resctrl";
// The progress of a task, 0 to 100, and the bytes of others' data that would be lost with it. The owner of the job may
// set them; tasks that lose least are evicted first.
inline constexpr std::string_view kProgressAnnotation = "tidemark.io/progress";
inline constexpr std::string_view kHeldBytesAnnotation = "tidemark.io/held-bytes";
inline constexpr std::string_view kProfilesAnnotation = "tidemark.io/profiles";  // the profiles that were applied to it

// Of ClusterColocationProfiles.
inline constexpr std::string_view kSkipUpdateResourcesAnnotation = "config.koordinator.sh/skip-update-resources";
inline constexpr std::string_view kControllerManagedLabel = "config.koordinator.sh/controller-managed";

// Annotations of nodes.
inline constexpr std::string_view kColocationStrategyAnnotation = "node.koordinator.sh/colocation-strategy";
inline constexpr std::string_view kReservationAnnotation = "node.koordinator.sh/reservation";
inline constexpr std::string_view kOriginAllocatableAnnotation = "node.koordinator.sh/originExtendedAllocatable";
inline constexpr std::string_view kNetworkBandwidthAnnotation = "node.koordinator.sh/network-bandwidth";
inline constexpr std::string_view kThirdPartyAllocationsAnnotation = "node.koordinator.sh/thirdPartyAllocations";
// The capacity of the node before Kubernetes was given an amplified one.
inline constexpr std::string_view kRawAllocatableAnnotation = "node.koordinator.sh/raw-allocatable";
inline constexpr std::string_view kSystemQosAnnotation = "node.koordinator.sh/system-qos-resource";
inline constexpr std::string_view kNormalizationRatioAnnotation = "node.koordinator.sh/cpu-normalization-ratio";
inline constexpr std::string_view kAmplificationRatioAnnotation = "node.koordinator.sh/resource-amplification-ratio";

// The NodeManager of a node, on its pod or on the node: HOST:PORT as registered, and its cluster.
inline constexpr std::string_view kYarnNodeIdAnnotation = "yarn.hadoop.apache.org/node-id";
inline constexpr std::string_view kYarnClusterIdAnnotation = "yarn.hadoop.apache.org/cluster-id";
inline constexpr std::string_view kYarnComponentLabel = "app.kubernetes.io/component";
inline constexpr std::string_view kYarnNodeManager = "node-manager";
inline constexpr std::string_view kYarnThirdParty = "hadoop-yarn";
// YARN's side of a node: what its operator holds and confirmed, and our offer.
inline constexpr std::string_view kYarnBookAnnotation = "tidemark.io/yarn-book";
inline constexpr std::string_view kYarnOfferAnnotation = "tidemark.io/yarn-offer";
// On the Lease of the yarn-operator: the ResourceManagers that it asks, with their HA state.
inline constexpr std::string_view kYarnManagersAnnotation = "tidemark.io/yarn-managers";

// On the Lease of the manager: the length of each work queue, and since when its oldest entry waits.
inline constexpr std::string_view kQueuesAnnotation = "tidemark.io/queues";
// On a Lease with our annotations: the holder that wrote them. Another holder, such as Koordinator's, keeps them as
// they are.
inline constexpr std::string_view kAnnotatedByAnnotation = "tidemark.io/annotated-by";

// Finalizer that keeps a Spark driver pod until the gateway has read its end.
inline constexpr std::string_view kEndIsReadFinalizer = "tidemark.io/end-is-read";

// Annotations of NodeResourceTopologies.
inline constexpr std::string_view kCpuBasicInfoAnnotation = "node.koordinator.sh/cpu-basic-info";

// Whether a node sells, and by whose order: a label and an annotation of nodes, the ConfigMap of orders for the cluster
// and pools with its keys, and a condition of nodes.
inline constexpr std::string_view kStateLabel = "tidemark.io/state";
inline constexpr std::string_view kStateDetailAnnotation = "tidemark.io/state-detail";
inline constexpr std::string_view kStateName = "tidemark-state";
inline constexpr std::string_view kStateKey = "state.json";
inline constexpr std::string_view kOverridesKey = "overrides.json";  // of the water line
inline constexpr std::string_view kStateCondition = "TidemarkCoLocation";

// Labels of nodes.
inline constexpr std::string_view kCpuReclaimRatioLabel = "node.koordinator.sh/cpu-reclaim-ratio";
inline constexpr std::string_view kMemoryReclaimRatioLabel = "node.koordinator.sh/memory-reclaim-ratio";
inline constexpr std::string_view kMidStaticCpuRatioLabel = "node.koordinator.sh/mid-static-cpu-reserved-ratio";
inline constexpr std::string_view kMidStaticMemoryRatioLabel = "node.koordinator.sh/mid-static-memory-reserved-ratio";
inline constexpr std::string_view kNormalizationEnabledLabel = "node.koordinator.sh/cpu-normalization-enabled";

// The manager's configuration, and its keys for overcommit.
inline constexpr std::string_view kConfigName = "slo-controller-config";
inline constexpr std::string_view kConfigMapTypeLabel = "koordinator.sh/configmap-type";  // the webhook's selector
inline constexpr std::string_view kColocationConfigKey = "colocation-config";
inline constexpr std::string_view kNormalizationConfigKey = "cpu-normalization-config";
inline constexpr std::string_view kAmplificationConfigKey = "resource-amplification-config";

// Tidemark's settings, the one key of their ConfigMap, the ConfigMap of earlier revisions, and the annotations on a
// node.
inline constexpr std::string_view kTidemarkConfigName = "tidemark-config";
inline constexpr std::string_view kTidemarkConfigKey = "config.yaml";
inline constexpr std::string_view kRevisionsName = "tidemark-config-revisions";
inline constexpr std::string_view kNodeSettingsAnnotation = "tidemark.io/settings";  // of the node itself
inline constexpr std::string_view kConfigHashAnnotation = "tidemark.io/config-hash";

// The state of eviction limits: the ConfigMap and its keys.
inline constexpr std::string_view kBudgetsName = "tidemark-budgets";
inline constexpr std::string_view kBudgetsStateKey = "state.json";
inline constexpr std::string_view kBudgetsCountsKey = "counts.json";
inline constexpr std::string_view kBudgetsRequestKey = "request.json";

}  // namespace tidemark::model
