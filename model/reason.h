// Why a decision came out as it did: one enumeration for events, logs, metric labels and `explain`.
//
// An id that was released never changes its meaning and is never used again; model/testdata/reasons.txt holds the list.
// The sentence says the rule; the numbers that mattered are in the plan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tidemark::model {

enum class Reason : std::uint16_t {
  // What the whole node's offer rests on.
  kPublished,
  kDisabledByCluster,
  kDisabledForNode,
  kMetricMissing,
  kMetricWithoutTime,
  kMetricStale,
  kMetricEmpty,
  kPluginsOff,

  // What counts as taken by online work.
  kPolicyUsage,
  kPolicyRequest,
  kPolicyMaxUsageRequest,

  // Which candidate for the reserved part was the largest.
  kReservedBySystemUsage,
  kReservedByKubelet,
  kReservedByAnnotation,

  // How the batch origin came about.
  kBatchUnderWaterLine,
  kBatchNothingLeft,
  kBatchCapped,

  // What third parties do to it.
  kThirdPartyNone,
  kThirdPartySubtracted,
  kThirdPartyTakesAll,
  kThirdPartyUnreadable,
  kBatchPluginOff,

  // How mid came about.
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

  // What a core of this node counts for.
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

  // By how much the native resources of this node are amplified.
  kAmplificationNone,
  kAmplificationApplied,
  kAmplificationUnavailable,
  kAmplificationBelowOne,
  kAmplificationTooLarge,
  kAmplificationRatioUnreadable,
  kAmplificationUndecided,

  // What `profile: tidemark` did where the peer's rule is not safe.
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

  // Where the water line lies, by the calendar.
  kLineBase,
  kLineWindow,
  kLineFrozen,
  kLineOverridden,
  kLineDraining,
  kForecastAboveLine,
  kForecastBusyHour,
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
  kLedgerTakenBack,
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

  // Which pool a node is in.
  kPoolOverlap,

  // What became of a pod on its way in.
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

  // What is wrong with an edit of the settings.
  kSettingsUnreadable,
  kSettingsInvalid,
  kSettingsOverlap,
  kSettingsNodeConflict,
  kSettingsUnknown,
  kSettingsSuspect,

  // Whether a node sells at all, and who decided it.
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

  // Who else writes the same numbers.
  kContestRepair,
  kContestStandBack,
  kContestReturn,
  kContestStanding,
  kContestPool,
  kContestOrdered,
  kContestObject,
  kContestObjectPool,

  // What evictions let a pool, a job and a node do.
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

  // What an auditor from outside found wrong with an offer.
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

  // What became of a configuration.
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

  // What of a node's NodeSLO comes from the node itself.
  kSloBandwidthFromAnnotation,
  kSloBandwidthUnreadable,
  kSloLineMoved,
  kSloLineAtBound,
  kSloLineBase,
  kSloNodeSettings,
  kSloNodeSettingsKept,
  kSloNodeSettingsRefused,

  // Where the spec of a node's NodeMetric comes from.
  kCollectFromStrategy,
  kCollectDisabled,
  kCollectInvalid,
  kCollectKept,

  // Whether an object that every node has is worth a write.
  kObjectMissing,
  kObjectDiffers,
  kObjectRight,
  kObjectOrphan,

  // What was learned, and how it is kept.
  kHistoryUnreadable,
  kHistoryNewer,
  kHistoryNoRoom,

  // What a workload is told that it needs.
  kRecommendFromProfile,
  kRecommendTooEarly,
  kRecommendDiffers,
  kRecommendRight,
  kRecommendForeign,
  kRecommendGone,

  // How much of the processors offline work may use on a node.
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

  // What a pod or task of batch resources may use at most.
  kLimitFromBatch,
  kLimitNothingSaid,
  kLimitBySuppression,
  kLimitNormalized,

  // Who runs first on a node, and how offline work shares.
  kPriorityByClass,
  kPriorityOff,
  kShareByClass,
  kShareUnknownClass,
  kOomOfflineFirst,
  kOomAfterItsTasks,

  // What the kernel of a node takes.
  kKnobMissing,
  kKnobOutranked,
  kKnobRefused,
  kKnobWithoutEffect,

  // What an agent does with what it decided.
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
  kAgentKeptForTasks,
  kAgentNotOurs,
  kAgentGroupGone,

  // Which offline work ends so that the rest, and the node, can go on.
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

  // What becomes of a node on which two schedulers sold the same.
  kArbitrateFits,
  kArbitrateReject,
  kArbitrateEvict,
  kArbitrateOver,

  // What a ResourceManager is told of a node.
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
  kYarnTakenBack,
  kYarnKept,
  kYarnDrained,
  kYarnLocalDirs,
  kYarnReclaimed,
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
