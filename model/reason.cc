#include "model/reason.h"

#include <array>

#include "base/check.h"

namespace tidemark::model {
namespace {

// In the order of the enumeration, so that the index is the look-up.
constexpr std::array kReasons{
    ReasonInfo{Reason::kPublished, "TM-NODE-001", "calculated from the node's metric and pods"},
    ReasonInfo{Reason::kDisabledByCluster, "TM-NODE-002", "co-location is off for the whole cluster"},
    ReasonInfo{Reason::kDisabledForNode, "TM-NODE-003", "co-location is off for this node"},
    ReasonInfo{Reason::kMetricMissing, "TM-NODE-004", "the node has no NodeMetric"},
    ReasonInfo{Reason::kMetricWithoutTime, "TM-NODE-005", "the NodeMetric was never reported"},
    ReasonInfo{Reason::kMetricStale, "TM-NODE-006", "the NodeMetric is older than degradeTimeMinutes"},
    ReasonInfo{Reason::kMetricEmpty, "TM-NODE-007",
               "the NodeMetric has a time but no measurements; what is published stays"},
    ReasonInfo{Reason::kPluginsOff, "TM-NODE-008", "batch and mid are switched off; what is published stays"},

    ReasonInfo{Reason::kPolicyUsage, "TM-BATCH-001", "online work counts with what it uses"},
    ReasonInfo{Reason::kPolicyRequest, "TM-BATCH-002", "online work counts with what it requests"},
    ReasonInfo{Reason::kPolicyMaxUsageRequest, "TM-BATCH-003",
               "online work counts with the larger of use and request, pod by pod"},
    ReasonInfo{Reason::kReservedBySystemUsage, "TM-BATCH-004",
               "the system and host applications use more than is reserved"},
    ReasonInfo{Reason::kReservedByKubelet, "TM-BATCH-005",
               "the kubelet's reservation (capacity - allocatable) is largest"},
    ReasonInfo{Reason::kReservedByAnnotation, "TM-BATCH-006", "the reservation annotation of the node is largest"},
    ReasonInfo{Reason::kBatchUnderWaterLine, "TM-BATCH-007", "everything under the water line that online work leaves"},
    ReasonInfo{Reason::kBatchNothingLeft, "TM-BATCH-008", "online work and reservations reach the water line"},
    ReasonInfo{Reason::kBatchCapped, "TM-BATCH-009", "held down by the batch threshold percent"},
    ReasonInfo{Reason::kThirdPartyNone, "TM-BATCH-010", "nobody outside Kubernetes holds a part"},
    ReasonInfo{Reason::kThirdPartySubtracted, "TM-BATCH-011", "what third parties hold is taken off"},
    ReasonInfo{Reason::kThirdPartyTakesAll, "TM-BATCH-012", "third parties hold all of it or more"},
    ReasonInfo{Reason::kThirdPartyUnreadable, "TM-BATCH-013",
               "the third-party annotation cannot be read; nothing is taken off"},
    ReasonInfo{Reason::kBatchPluginOff, "TM-BATCH-014", "batch is switched off; what is published stays"},

    ReasonInfo{Reason::kMidReclaimable, "TM-MID-001",
               "what prod pods are predicted not to need, plus a share of what is unallocated"},
    ReasonInfo{Reason::kMidNothing, "TM-MID-002", "nothing is reclaimable"},
    ReasonInfo{Reason::kMidCapped, "TM-MID-003", "held down by the mid threshold percent"},
    ReasonInfo{Reason::kMidStatic, "TM-MID-004", "a fixed share of capacity"},
    ReasonInfo{Reason::kMidStaticCapped, "TM-MID-005",
               "a fixed share of capacity, held down by the mid threshold percent"},
    ReasonInfo{Reason::kMidNodeUsageMissing, "TM-MID-006",
               "the metric lacks the node's usage, so nothing counts as reclaimable"},
    ReasonInfo{Reason::kMidPluginOff, "TM-MID-007", "mid is switched off; what is published stays"},

    ReasonInfo{Reason::kWriteFirst, "TM-WRITE-001", "not written since this process started"},
    ReasonInfo{Reason::kWriteRefresh, "TM-WRITE-002", "the last write is older than updateTimeThresholdSeconds"},
    ReasonInfo{Reason::kWriteAppears, "TM-WRITE-003", "a resource is not on the node yet"},
    ReasonInfo{Reason::kWriteDisappears, "TM-WRITE-004", "a resource must leave the node"},
    ReasonInfo{Reason::kWriteMoved, "TM-WRITE-005", "a resource moved by more than resourceDiffThreshold"},
    ReasonInfo{Reason::kWriteNotNeeded, "TM-WRITE-006", "nothing moved enough to be worth a write"},
    ReasonInfo{Reason::kWriteSettings, "TM-WRITE-007", "the node does not carry the hash of its settings yet"},

    ReasonInfo{Reason::kMotionFirst, "TM-MOTION-001", "the first value: there is nothing to move from"},
    ReasonInfo{Reason::kMotionSteady, "TM-MOTION-002", "as much as before"},
    ReasonInfo{Reason::kMotionCut, "TM-MOTION-003", "less than before: a cut is applied at once"},
    ReasonInfo{Reason::kMotionInsideDeadBand, "TM-MOTION-004", "the growth is too small to be worth a write"},
    ReasonInfo{Reason::kMotionSlewed, "TM-MOTION-005", "growth goes on step by step"},
    ReasonInfo{Reason::kMotionReached, "TM-MOTION-006", "growth has reached what may be offered"},
    ReasonInfo{Reason::kMotionUnconfirmed, "TM-MOTION-007",
               "the NodeMetric was not seen to change yet: the offer may not grow"},
    ReasonInfo{Reason::kMotionHeld, "TM-MOTION-008", "the NodeMetric has stopped changing: the offer may not grow"},
    ReasonInfo{Reason::kMotionDecaying, "TM-MOTION-009",
               "the NodeMetric has not changed for long: the offer goes down in steps"},
    ReasonInfo{Reason::kMotionForgotten, "TM-MOTION-010",
               "the NodeMetric has not changed for so long that nothing is offered"},

    ReasonInfo{Reason::kLineBase, "TM-LINE-001", "no entry of the calendar is in force: the base line"},
    ReasonInfo{Reason::kLineWindow, "TM-LINE-002", "a window of the calendar is open"},
    ReasonInfo{Reason::kLineFrozen, "TM-LINE-003", "a freeze of the calendar is in force"},
    ReasonInfo{Reason::kLineOverridden, "TM-LINE-004", "somebody has overridden the calendar for a while"},
    ReasonInfo{Reason::kLineDraining, "TM-LINE-005",
               "the line is about to fall: nothing new is let in above what it will be"},
    ReasonInfo{Reason::kForecastAboveLine, "TM-LINE-006",
               "online work alone is expected to reach the line of this window"},
    ReasonInfo{Reason::kForecastBusyHour, "TM-LINE-007",
               "this window raises the line in an hour that is busier than most of the week"},

    ReasonInfo{Reason::kLedgerAll, "TM-LEDGER-001", "the other side has sold nothing: all of it"},
    ReasonInfo{Reason::kLedgerOtherSold, "TM-LEDGER-002", "what the other side has sold is taken off"},
    ReasonInfo{Reason::kLedgerPartOfIdle, "TM-LEDGER-003", "its part of what is idle (strict ledger)"},
    ReasonInfo{Reason::kLedgerOtherReserved, "TM-LEDGER-004", "the other side's guaranteed share is taken off"},
    ReasonInfo{Reason::kLedgerShareMax, "TM-LEDGER-005", "held down by this side's largest share"},
    ReasonInfo{Reason::kLedgerAwaitsOther, "TM-LEDGER-006",
               "more is due once the other side's cut is confirmed (strict ledger)"},
    ReasonInfo{Reason::kLedgerUnknown, "TM-LEDGER-007",
               "what the other side has sold is not known: its last offer counts as sold"},

    ReasonInfo{Reason::kRolloutFirst, "TM-ROLLOUT-001",
               "nothing was in force before: these settings hold everywhere at once"},
    ReasonInfo{Reason::kRolloutAtOnce, "TM-ROLLOUT-002",
               "edits hold everywhere at once, as the settings say or for want of a tidemark-config"},
    ReasonInfo{Reason::kRolloutOff, "TM-ROLLOUT-003",
               "the edit only switches co-location off: it holds everywhere at once"},
    ReasonInfo{Reason::kRolloutUndone, "TM-ROLLOUT-004",
               "back to a revision that somebody asked for: it holds everywhere at once"},
    ReasonInfo{Reason::kRolloutReturned, "TM-ROLLOUT-005",
               "back to the revision that the roll-out began from: it holds everywhere at once"},
    ReasonInfo{Reason::kRolloutHurried, "TM-ROLLOUT-006", "somebody asked for the rest at once"},
    ReasonInfo{Reason::kRolloutBegun, "TM-ROLLOUT-007", "an edit is rolled out in steps"},
    ReasonInfo{Reason::kRolloutCanary, "TM-ROLLOUT-008",
               "nodes of the canary pools take the new settings, so many a minute"},
    ReasonInfo{Reason::kRolloutSoaking, "TM-ROLLOUT-009",
               "the canary pools run the new settings; the others wait for the soak time"},
    ReasonInfo{Reason::kRolloutFleet, "TM-ROLLOUT-010", "all other nodes take the new settings, so many a minute"},
    ReasonInfo{Reason::kRolloutDone, "TM-ROLLOUT-011", "every node runs the new settings"},
    ReasonInfo{Reason::kRolloutEvictionSpike, "TM-ROLLOUT-012",
               "held: a pool with the new settings evicts more than the limit"},
    ReasonInfo{Reason::kRolloutHeld, "TM-ROLLOUT-013", "held, as somebody asked"},
    ReasonInfo{Reason::kRolloutResumed, "TM-ROLLOUT-014", "goes on after a hold"},
    ReasonInfo{Reason::kRolloutBlind, "TM-ROLLOUT-015", "waiting: nobody can tell how many evictions there are"},
    ReasonInfo{Reason::kRolloutTooMany, "TM-ROLLOUT-016",
               "not taken: too many revisions are in force side by side; finish or undo a roll-out first"},
    ReasonInfo{Reason::kRolloutTooLarge, "TM-ROLLOUT-017",
               "not taken: the settings are too large to be kept beside those in force"},

    ReasonInfo{Reason::kPoolOverlap, "TM-POOL-001", "the selectors of two pools match; the first one takes the node"},

    ReasonInfo{Reason::kAdmitOff, "TM-ADMIT-001",
               "co-location is off, and pods that a profile would make offline work are refused meanwhile"},
    ReasonInfo{Reason::kAdmitPodUnreadable, "TM-ADMIT-002", "the pod cannot be read"},
    ReasonInfo{Reason::kAdmitPriorityClassMissing, "TM-ADMIT-003",
               "the PriorityClass that a matching profile names does not exist"},
    ReasonInfo{Reason::kAdmitProbabilityUnreadable, "TM-ADMIT-004",
               "the probability of a matching profile is neither a number nor N%"},
    ReasonInfo{Reason::kAdmitPatchUnfit, "TM-ADMIT-005", "the patch of a matching profile does not fit the pod"},
    ReasonInfo{Reason::kAdmitSelectorUnusable, "TM-ADMIT-006", "a selector of a profile cannot be used"},
    ReasonInfo{Reason::kAdmitNamespaceUnknown, "TM-ADMIT-007", "the labels of the pod's namespace are not known"},
    ReasonInfo{Reason::kAdmitPodLevelResources, "TM-ADMIT-008",
               "resources of the pod as a whole stay native: batch and mid resources exist for containers only"},
    ReasonInfo{Reason::kPodQosImmutable, "TM-POD-001", "the QoS class of a pod cannot be changed"},
    ReasonInfo{Reason::kPodPriorityClassImmutable, "TM-POD-002", "the priority class of a pod cannot be changed"},
    ReasonInfo{Reason::kPodPriorityImmutable, "TM-POD-003", "the priority of a pod inside its class cannot be changed"},
    ReasonInfo{Reason::kPodBatchNeedsBe, "TM-POD-004", "a pod that asks for batch resources must be of QoS class BE"},
    ReasonInfo{Reason::kPodQosForbidsPriority, "TM-POD-005", "QoS class and priority class do not go together"},
    ReasonInfo{Reason::kPodCpuMissing, "TM-POD-006", "a pod of QoS class LSR or LSE must request CPUs"},
    ReasonInfo{Reason::kPodCpuNotWhole, "TM-POD-007", "a pod of QoS class LSR or LSE must request whole CPUs"},
    ReasonInfo{Reason::kPodReserveAnnotation, "TM-POD-008",
               "the annotation is the scheduler's own and cannot be set by users"},
    ReasonInfo{Reason::kPodLabelRequired, "TM-POD-009", "a label that this cluster requires is missing"},
    ReasonInfo{Reason::kSettingsUnreadable, "TM-SETTINGS-001", "the text of a key cannot be read"},
    ReasonInfo{Reason::kSettingsInvalid, "TM-SETTINGS-002", "a value is out of range or misses its other half"},
    ReasonInfo{Reason::kSettingsOverlap, "TM-SETTINGS-003",
               "the node selectors of two strategies can match the same node"},
    ReasonInfo{Reason::kSettingsNodeConflict, "TM-SETTINGS-004", "a node of this cluster matches two strategies"},
    ReasonInfo{Reason::kSettingsUnknown, "TM-SETTINGS-005", "nobody reads this field or key"},
    ReasonInfo{Reason::kSettingsSuspect, "TM-SETTINGS-006",
               "the value is taken as it is, and means something else than it seems to"},

    ReasonInfo{Reason::kStateDefault, "TM-STATE-001", "nobody ordered a state: the settings decide"},
    ReasonInfo{Reason::kStateByMode, "TM-STATE-002", "the settings say that the node's pool is observed"},
    ReasonInfo{Reason::kStateByNode, "TM-STATE-003", "ordered for this node"},
    ReasonInfo{Reason::kStateByPool, "TM-STATE-004", "ordered for the node's pool"},
    ReasonInfo{Reason::kStateByCluster, "TM-STATE-005", "ordered for the whole cluster"},
    ReasonInfo{Reason::kStateByLabel, "TM-STATE-006",
               "the state label was set by hand; it holds like an order for this node"},
    ReasonInfo{Reason::kStateDisagrees, "TM-STATE-007",
               "label and annotation of the state mark disagree: the stricter one holds"},
    ReasonInfo{Reason::kStateNewer, "TM-STATE-008", "a newer version wrote the state mark: its label holds"},
    ReasonInfo{Reason::kStateUnreadable, "TM-STATE-009",
               "the state mark cannot be read: nothing new is sold until it is set anew"},
    ReasonInfo{Reason::kStateDraining, "TM-STATE-010", "draining: nothing new is sold, what runs may end"},
    ReasonInfo{Reason::kStateOff, "TM-STATE-011", "off: nothing is sold"},
    ReasonInfo{Reason::kStateOffK8s, "TM-STATE-012", "off for Kubernetes alone"},
    ReasonInfo{Reason::kStateOffYarn, "TM-STATE-013", "off for YARN alone"},
    ReasonInfo{Reason::kStateInherited, "TM-STATE-014", "the node was marked as its pool or the cluster is"},
    ReasonInfo{Reason::kStateEnded, "TM-STATE-015", "the time of an order is over: what held before holds again"},
    ReasonInfo{Reason::kStateDrained, "TM-STATE-016", "nothing is sold any more: draining is over"},
    ReasonInfo{Reason::kStateDrainTimeOver, "TM-STATE-017", "the time to drain is over"},
    ReasonInfo{Reason::kStateDesiredRead, "TM-STATE-018", "what was ordered for the cluster and its pools was read"},
    ReasonInfo{Reason::kStateDesiredNone, "TM-STATE-019", "nothing was ordered for the cluster or its pools"},
    ReasonInfo{Reason::kStateDesiredOld, "TM-STATE-020",
               "what was ordered for the cluster is older than what is in force, and not taken"},
    ReasonInfo{Reason::kStateDesiredLost, "TM-STATE-021",
               "what was ordered for the cluster is gone from the API server; the last known holds"},
    ReasonInfo{Reason::kStateDesiredUnreadable, "TM-STATE-022",
               "what was ordered for the cluster cannot be read; the last known holds"},

    ReasonInfo{Reason::kContestRepair, "TM-WRITER-001", "somebody else replaced our numbers: they are written again"},
    ReasonInfo{Reason::kContestStandBack, "TM-WRITER-002",
               "somebody else replaces our numbers again and again: the node is left to them and only observed"},
    ReasonInfo{Reason::kContestReturn, "TM-WRITER-003", "nobody else wrote for a while: our numbers are written again"},
    ReasonInfo{Reason::kContestStanding, "TM-WRITER-004", "left to another writer and only observed"},

    ReasonInfo{Reason::kConfigDefaults, "TM-CONFIG-001", "the key is absent or empty: defaults are in force"},
    ReasonInfo{Reason::kConfigNotFound, "TM-CONFIG-002", "the ConfigMap does not exist: defaults are in force"},
    ReasonInfo{Reason::kConfigApplied, "TM-CONFIG-003", "the configuration is in force"},
    ReasonInfo{Reason::kConfigBadJson, "TM-CONFIG-004",
               "the configuration cannot be read; the last good one stays in force"},
    ReasonInfo{Reason::kConfigInvalid, "TM-CONFIG-005",
               "a value is out of range; the last good configuration stays in force"},
    ReasonInfo{Reason::kConfigEntryInvalid, "TM-CONFIG-006",
               "a value of a node entry is out of range; its nodes get the cluster's strategy"},
    ReasonInfo{Reason::kConfigSelectorUnusable, "TM-CONFIG-007",
               "the selector of a node entry is broken; the entry is skipped"},
    ReasonInfo{Reason::kConfigNodeAnnotationUnreadable, "TM-CONFIG-008",
               "the node's strategy annotation cannot be read and is ignored"},
    ReasonInfo{Reason::kConfigNodeLabelUnreadable, "TM-CONFIG-009",
               "a ratio label of the node is not a number of 0 or more and is ignored"},
    ReasonInfo{Reason::kConfigDropIn, "TM-CONFIG-010",
               "there is no tidemark-config: what the peer's own switches enable is enforced, at once"},
    ReasonInfo{Reason::kConfigKept, "TM-CONFIG-011", "the ConfigMap is gone; the last good settings stay in force"},

    ReasonInfo{Reason::kSloBandwidthFromAnnotation, "TM-SLO-001",
               "the node's network-bandwidth annotation is its totalNetworkBandwidth"},
    ReasonInfo{Reason::kSloBandwidthUnreadable, "TM-SLO-002",
               "the node's network-bandwidth annotation is no quantity; its systemStrategy is left out"},

    ReasonInfo{Reason::kCollectFromStrategy, "TM-COLLECT-001", "the node's co-location strategy says what is reported"},
    ReasonInfo{Reason::kCollectDisabled, "TM-COLLECT-002",
               "co-location is off for the node; it reports as the defaults say"},
    ReasonInfo{Reason::kCollectInvalid, "TM-COLLECT-003",
               "the node's own settings are out of range; it reports as the defaults say"},
    ReasonInfo{Reason::kCollectKept, "TM-COLLECT-004", "the configuration cannot be used; what is there stays"},

    ReasonInfo{Reason::kObjectMissing, "TM-OBJECT-001", "the node has no such object yet"},
    ReasonInfo{Reason::kObjectDiffers, "TM-OBJECT-002", "the object says something else than the settings"},
    ReasonInfo{Reason::kObjectRight, "TM-OBJECT-003", "the object says what the settings say"},
    ReasonInfo{Reason::kObjectOrphan, "TM-OBJECT-004", "the object's node is gone"},
};

consteval bool in_order() {
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    if (static_cast<std::size_t>(kReasons[i].reason) != i) return false;
  }
  return kReasons.size() == static_cast<std::size_t>(Reason::kObjectOrphan) + 1;
}
static_assert(in_order(), "one row for each reason, in the order of the enumeration");

const ReasonInfo& info(Reason reason) {
  const auto index = static_cast<std::size_t>(reason);
  TM_CHECK(index < kReasons.size(), "a reason is made only from the enumeration");
  return kReasons[index];
}

}  // namespace

std::span<const ReasonInfo> all_reasons() {
  return kReasons;
}
std::string_view reason_id(Reason reason) {
  return info(reason).id;
}
std::string_view reason_sentence(Reason reason) {
  return info(reason).sentence;
}

}  // namespace tidemark::model
