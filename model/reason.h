// Explains a decision: one enumeration for events, logs, metric labels and `explain`.
//
// A released id never changes its meaning and is never used again; model/testdata/reasons.txt is the list. The sentence
// states the rule; the numbers are in the plan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tidemark::model {

enum class Reason : std::uint16_t {
  // The base of the node's whole offer.
  kPublished,
  kDisabledByCluster,
  kDisabledForNode,
  kMetricMissing,
  kMetricWithoutTime,
  kMetricStale,
  kMetricEmpty,
  kPluginsOff,

  // How online work counts.
  kPolicyUsage,
  kPolicyRequest,
  kPolicyMaxUsageRequest,

  // The largest candidate for the reserved part.
  kReservedBySystemUsage,
  kReservedByKubelet,
  kReservedByAnnotation,

  // How the batch origin was computed.
  kBatchUnderWaterLine,
  kBatchNothingLeft,
  kBatchCapped,

  // How third parties reduce it.
  kThirdPartyNone,
  kThirdPartySubtracted,
  kThirdPartyTakesAll,
  kThirdPartyUnreadable,
  kBatchPluginOff,

  // How mid was computed.
  kMidReclaimable,
  kMidNothing,
  kMidCapped,
  kMidStatic,
  kMidStaticCapped,
  kMidNodeUsageMissing,
  kMidPluginOff,

  // Batch by NUMA zone.
  kZonesCalculated,
  kZonesNoTopology,
  kZonesEmpty,
  kZonesLeft,
  kZonesCleared,
  kZonesScaled,
  kZonesHeld,

  // The value of one CPU of this node.
  kNormalizationOff,
  kNormalizationByModel,
  kNormalizationDefault,
  kNormalizationUnavailable,
  kNormalizationLabelUnreadable,
  kNormalizationCpuUnknown,
  kNormalizationCpuUnreadable,
  kNormalizationNoRatio,
  kNormalizationOutOfRange,
  kNormalizationUndecided,

  // The amplification of this node's native resources.
  kAmplificationNone,
  kAmplificationApplied,
  kAmplificationUnavailable,
  kAmplificationBelowOne,
  kAmplificationTooLarge,
  kAmplificationRatioUnreadable,
  kAmplificationUndecided,

  // What `profile: tidemark` changed because Koordinator's rule is not safe.
  kSafeMargin,
  kSafePodWithoutReport,
  kSafeCpuRequest,
  kSafeThirdPartyKept,
  kSafeCutsOnly,
  kSafeRatioKept,
  kSafeAmplificationKept,
  kSafeZoneThirdParty,
  kSafeNumaOnce,
  kSafeWarmUpRequest,
  kSafeWarmUpProfile,

  // Whether a plan is worth a write.
  kWriteFirst,
  kWriteRefresh,
  kWriteAppears,
  kWriteDisappears,
  kWriteMoved,
  kWriteNotNeeded,
  kWriteSettings,
  kWriteRepaired,
  kWriteRatio,
  kWriteCut,
  kWriteState,
  kWriteStopped,
  kWriteAsked,
  kWriteBackedOff,

  // How fast an offer may move.
  kMotionFirst,
  kMotionSteady,
  kMotionCut,
  kMotionInsideDeadBand,
  kMotionSlewed,
  kMotionReached,
  kMotionUnconfirmed,
  kMotionHeld,
  kMotionDecaying,
  kMotionForgotten,

  // The water line by the calendar.
  kLineBase,
  kLineWindow,
  kLineFrozen,
  kLineOverridden,
  kLineDraining,
  kLineOverrideEnded,
  kLineOverrideCleared,
  kLineOverridesKept,
  kLineOverridesOld,

  // How a node's offer is split between Kubernetes and YARN.
  kLedgerAll,
  kLedgerOtherSold,
  kLedgerPartOfIdle,
  kLedgerOtherReserved,
  kLedgerShareMax,
  kLedgerAwaitsOther,
  kLedgerUnknown,
  kLedgerWithdrawn,
  kLedgerReclaim,
  kLedgerReclaimOver,
  kLedgerToldBySide,
  kLedgerToldByEntry,

  // How new settings reach the nodes.
  kRolloutFirst,
  kRolloutAtOnce,
  kRolloutOff,
  kRolloutUndone,
  kRolloutReturned,
  kRolloutHurried,
  kRolloutBegun,
  kRolloutCanary,
  kRolloutSoaking,
  kRolloutFleet,
  kRolloutDone,
  kRolloutEvictionSpike,
  kRolloutHeld,
  kRolloutResumed,
  kRolloutBlind,
  kRolloutTooMany,
  kRolloutTooLarge,

  // The pool of a node.
  kPoolOverlap,

  // The admission of a pod.
  kAdmitOff,
  kAdmitPodUnreadable,
  kAdmitPriorityClassMissing,
  kAdmitProbabilityUnreadable,
  kAdmitPatchUnfit,
  kAdmitSelectorUnusable,
  kAdmitNamespaceUnknown,
  kAdmitPodLevelResources,
  kPodQosImmutable,
  kPodPriorityClassImmutable,
  kPodPriorityImmutable,
  kPodBatchNeedsBe,
  kPodQosForbidsPriority,
  kPodCpuMissing,
  kPodCpuNotWhole,
  kPodReserveAnnotation,
  kPodLabelRequired,

  // Problems in an edit of the settings.
  kSettingsUnreadable,
  kSettingsInvalid,
  kSettingsOverlap,
  kSettingsNodeConflict,
  kSettingsUnknown,
  kSettingsSuspect,

  // Whether a node sells at all, and by whose order.
  kStateDefault,
  kStateByMode,
  kStateByNode,
  kStateByPool,
  kStateByCluster,
  kStateByLabel,
  kStateDisagrees,
  kStateNewer,
  kStateUnreadable,
  kStateDraining,
  kStateOff,
  kStateOffK8s,
  kStateOffYarn,
  kStateInherited,
  kStateEnded,
  kStateDrained,
  kStateDrainTimeOver,
  kStateDesiredRead,
  kStateDesiredNone,
  kStateDesiredOld,
  kStateDesiredLost,
  kStateDesiredUnreadable,
  kStateOn,
  kStateObserved,
  kStateByManager,
  kStateClassDraining,
  kStateClassOff,

  // Other writers of the same numbers.
  kContestRepair,
  kContestStandBack,
  kContestReturn,
  kContestStanding,
  kContestOrdered,
  kContestObject,

  // Limits of evictions for a pool, a job and a node.
  kBudgetSpike,
  kBudgetStopped,
  kBudgetProbation,
  kBudgetReopened,
  kBudgetClosed,
  kBudgetResumed,
  kBudgetSwitchedOff,
  kBudgetJobExhausted,
  kBudgetPoolExhausted,
  kBudgetOverReportGivenUp,
  kBudgetOverReportBack,
  kBudgetUnreadable,
  kBudgetGranted,
  kBudgetGrantRenewed,
  kBudgetGrantCut,
  kBudgetNoRoom,
  kBudgetBackOff,

  // Problems that an external audit found in an offer.
  kAuditNegative,
  kAuditAboveCeiling,
  kAuditSoldTwice,
  kAuditStaleGrowth,
  kAuditStaleOffer,
  kAuditGrowthTooFast,
  kAuditFollowing,
  kAuditUsageRose,
  kAuditOriginDropped,
  kAuditForeignWriter,
  kAuditUnreadable,
  kAuditBothOffered,
  kAuditYarnOffer,
  kAuditGivenUnconfirmed,
  kAuditZones,
  kAuditYarnTotal,

  // The result of reading a configuration.
  kConfigDefaults,
  kConfigNotFound,
  kConfigApplied,
  kConfigBadJson,
  kConfigInvalid,
  kConfigEntryInvalid,
  kConfigSelectorUnusable,
  kConfigNodeAnnotationUnreadable,
  kConfigNodeLabelUnreadable,
  kConfigDropIn,
  kConfigKept,
  kConfigNodeAnnotationInvalid,
  kConfigEnabledBelow,

  // Parts of a node's NodeSLO that come from the node itself.
  kSloBandwidthFromAnnotation,
  kSloBandwidthUnreadable,
  kSloLineMoved,
  kSloLineAtBound,
  kSloLineBase,
  kSloNodeSettings,
  kSloNodeSettingsKept,
  kSloNodeSettingsRefused,

  // The source of a NodeMetric's spec.
  kCollectFromStrategy,
  kCollectDisabled,
  kCollectInvalid,
  kCollectKept,

  // Whether an object that every node has is worth a write.
  kObjectMissing,
  kObjectDiffers,
  kObjectRight,
  kObjectOrphan,

  // Learned history, and how it is stored.
  kHistoryUnreadable,
  kHistoryNewer,
  kHistoryNoRoom,

  // The recommendation for a workload.
  kRecommendFromProfile,
  kRecommendTooEarly,
  kRecommendDiffers,
  kRecommendForeign,
  kRecommendGone,

  // How much CPU offline work may use on a node.
  kSuppressOff,
  kSuppressUnderLine,
  kSuppressAtFloor,
  kSuppressSlewed,
  kSuppressSmallStep,
  kSuppressUnknown,
  kSuppressNothingKnown,
  kSuppressNodeOff,
  kSuppressLowestFirst,
  kSuppressSurge,
  kSuppressRunsLast,

  // Upper limits of pods and tasks with batch resources.
  kLimitFromBatch,
  kLimitNothingSaid,
  kLimitBySuppression,
  kLimitNormalized,

  // CPU priority on a node, and how offline work shares.
  kPriorityByClass,
  kPriorityOff,
  kShareByClass,
  kShareUnknownClass,
  kOomOfflineFirst,
  kOomAfterItsTasks,

  // What the kernel of a node accepts.
  kKnobMissing,
  kKnobOutranked,
  kKnobRefused,
  kKnobWithoutEffect,

  // What an agent does with its decision.
  kAgentEnforces,
  kAgentObserves,
  kAgentOff,
  kAgentLatched,
  kAgentHolds,
  kAgentAwaits,
  kAgentPeerPresent,
  kAgentStandsBack,
  kAgentRepaired,
  kAgentPutBack,
  kAgentNotOurs,

  // Evictions of offline work that protect other work and the node.
  kEvictMemoryLine,
  kEvictCpuLine,
  kEvictCpuUnsatisfied,
  kEvictCpuOversold,
  kEvictMemoryOversold,
  kEvictMemoryPressure,
  kEvictDiskLine,
  kEvictBelowLine,
  kEvictReleasesOnTheWay,
  kEvictCoolDown,
  kEvictNoVictim,
  kEvictBudgetSpent,
  kEvictNotMeasured,
  kEvictUnfit,
  kEvictAsked,
  kEvictForbidden,
  kEvictUnreachable,
  kEvictKilled,
  kEvictGone,
  kEvictNotKilled,
  kEvictInodesLine,
  kEvictPreempted,
  kEvictReplaced,
  kEvictLineMoved,
  kEvictOrdered,

  // A node on which two schedulers sold the same capacity.
  kArbitrateFits,
  kArbitrateReject,
  kArbitrateEvict,
  kArbitrateOver,

  // YARN's total of a node.
  kYarnShared,
  kYarnPeer,
  kYarnOffered,
  kYarnNoOrigin,
  kYarnNotReady,
  kYarnCordoned,
  kYarnOff,
  kYarnObserved,
  kYarnUsed,
  kYarnMismatch,
  kYarnForeign,
  kYarnConfirmed,
  kYarnClosed,
  kYarnAgentReclaimed,
  kYarnKept,
  kYarnDrained,
  kYarnLocalDirs,
  kYarnReclaimed,

  // Spark runs at the gateway: side, end, stop.
  kRouteMoved,
  kRouteOnlyPossibleSide,
  kRouteSwitchedOff,
  kRoutePinnedByJob,
  kRoutePinnedByRule,
  kRouteBannedByRule,
  kRouteWithinShare,
  kRouteBeyondShare,
  kRouteTooManyWaiting,
  kRouteNoSidePossible,
  kRouteWaitsForSwitch,
  kRouteWaitsForOthers,
  kRouteEndSucceeded,
  kRouteEndUser,
  kRouteEndAdmission,
  kRouteEndInfrastructure,
  kRouteEndStorm,
  kRouteEndKilled,
  kRouteEndLost,
  kRouteStopCancel,
  kRouteStopAdmission,
  kRouteStopSwitchedOff,
  kRouteStopRefused,
  kRouteStopImage,
  kRouteStopStart,
  kRouteSidesDiffer,
  kRouteWaitsForRuns,
  kRouteWaitsForCores,
  kRouteNamespaceFull,
  kRouteKubernetesFull,
  kRouteRoomIsForOwner,
  kRouteWaitsForRoom,
};

struct ReasonInfo {
  Reason reason;
  std::string_view id;        // "TM-BATCH-001"
  std::string_view sentence;  // what it means, for people
};

std::span<const ReasonInfo> all_reasons();
std::string_view reason_id(Reason);
std::string_view reason_sentence(Reason);

}  // namespace tidemark::model
