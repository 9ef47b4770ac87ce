#include "policy/settings/fields.h"

#include <array>

namespace tidemark::policy::settings {
namespace {

using Field = SettingsField;
using Shape = SettingsShape;

constexpr Field yes_no(std::string_view name) {
  Field field{.name = name};
  field.kind = SettingsKind::kBool;
  return field;
}
constexpr Field whole(std::string_view name, std::int64_t lowest, std::int64_t highest = kNoHighest,
                      bool ours = false) {
  Field field{.name = name};
  field.kind = SettingsKind::kInteger;
  field.lowest = lowest;
  field.highest = highest;
  field.ours = ours;
  return field;
}
constexpr Field percent(std::string_view name) {
  return whole(name, 0, 100);
}
constexpr Field choice(std::string_view name, std::span<const std::string_view> choices) {
  Field field{.name = name};
  field.kind = SettingsKind::kChoice;
  field.choices = choices;
  field.ours = true;
  return field;
}
constexpr Field of_kind(std::string_view name, SettingsKind kind, const Shape* shape = nullptr) {
  Field field{.name = name};
  field.kind = kind;
  field.shape = shape;
  return field;
}
constexpr Field number(std::string_view name, SettingsKind kind, double lowest, double highest, bool above = false) {
  Field field{.name = name};
  field.kind = kind;
  field.lowest_number = lowest;
  field.highest_number = highest;
  field.above_lowest = above;
  return field;
}

constexpr double kNoEnd = std::numeric_limits<double>::infinity();
constexpr std::int64_t kInt32Lowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kInt32Highest = std::numeric_limits<std::int32_t>::max();

// ---- colocation-config (contract 4.2) ----

constexpr std::array<std::string_view, 2> kCpuPolicies{"usage", "maxUsageRequest"};
constexpr std::array<std::string_view, 3> kMemoryPolicies{"usage", "request", "maxUsageRequest"};
constexpr std::array<std::string_view, 3> kCollectPolicies{"usageWithoutPageCache", "usageWithHotPageCache",
                                                           "usageWithPageCache"};
constexpr std::array kAggregatePolicy{of_kind("durations", SettingsKind::kDurations)};
constexpr Shape kAggregatePolicyShape{.fields = kAggregatePolicy};
constexpr std::array kColocation{
    yes_no("enable"),
    whole("metricAggregateDurationSeconds", 1),
    whole("metricReportIntervalSeconds", 1),
    of_kind("metricAggregatePolicy", SettingsKind::kObject, &kAggregatePolicyShape),
    choice("metricMemoryCollectPolicy", kCollectPolicies),
    whole("cpuReclaimThresholdPercent", 0),
    choice("cpuCalculatePolicy", kCpuPolicies),
    whole("memoryReclaimThresholdPercent", 0),
    choice("memoryCalculatePolicy", kMemoryPolicies),
    whole("degradeTimeMinutes", 1),
    whole("updateTimeThresholdSeconds", 1),
    number("resourceDiffThreshold", SettingsKind::kNumber, 0, 1, true),
    of_kind("midReclaimMode", SettingsKind::kText),
    percent("midCPUThresholdPercent"),
    percent("midMemoryThresholdPercent"),
    percent("midUnallocatedPercent"),
    percent("midStaticCPUReservedPercent"),
    percent("midStaticMemoryReservedPercent"),
    whole("batchCPUThresholdPercent", 0),
    whole("batchMemoryThresholdPercent", 0),
    of_kind("extensions", SettingsKind::kAnything),
};
constexpr Shape kColocationShape{.fields = kColocation};

// ---- resource-threshold-config (contract 3.2) ----

constexpr std::array<std::string_view, 3> kSuppressPolicies{"cpuset", "cfsQuota", "idle"};
constexpr std::array<std::string_view, 2> kEvictPolicies{"evictByRealLimit", "evictByAllocatable"};
constexpr std::array kThreshold{
    yes_no("enable"),
    percent("cpuSuppressThresholdPercent"),
    percent("cpuSuppressMinPercent"),
    choice("cpuSuppressPolicy", kSuppressPolicies),
    percent("memoryEvictThresholdPercent"),
    percent("memoryEvictLowerPercent"),
    whole("memoryAllocatableEvictThresholdPercent", 0),
    whole("memoryAllocatableEvictLowerPercent", 0),
    percent("cpuEvictBESatisfactionUpperPercent"),
    percent("cpuEvictBESatisfactionLowerPercent"),
    percent("cpuEvictBEUsageThresholdPercent"),
    whole("cpuEvictTimeWindowSeconds", 1),
    percent("cpuEvictThresholdPercent"),
    percent("cpuEvictLowerPercent"),
    whole("cpuAllocatableEvictThresholdPercent", 0),
    whole("cpuAllocatableEvictLowerPercent", 0),
    choice("cpuEvictPolicy", kEvictPolicies),
    whole("evictEnabledPriorityThreshold", kInt32Lowest, kInt32Highest),
    whole("allocatableEvictPriorityThreshold", 0, 7999),
};
constexpr std::array<SettingsPair, 5> kThresholdPairs{{
    {"memoryEvictLowerPercent", "memoryEvictThresholdPercent"},
    {"cpuEvictBESatisfactionLowerPercent", "cpuEvictBESatisfactionUpperPercent"},
    {"cpuEvictLowerPercent", "cpuEvictThresholdPercent"},
    {"memoryAllocatableEvictLowerPercent", "memoryAllocatableEvictThresholdPercent"},
    {"cpuAllocatableEvictLowerPercent", "cpuAllocatableEvictThresholdPercent"},
}};
constexpr Shape kThresholdShape{.fields = kThreshold, .pairs = kThresholdPairs};

// ---- resource-qos-config (contract 3.2) ----

constexpr std::array<std::string_view, 2> kCpuQosPolicies{"groupIdentity", "coreSched"};
constexpr std::array<std::string_view, 2> kNetQosPolicies{"tc", "terway-qos"};
constexpr std::array kPolicies{choice("cpuPolicy", kCpuQosPolicies), choice("netQOSPolicy", kNetQosPolicies)};
constexpr Shape kPoliciesShape{.fields = kPolicies};

constexpr std::array kCpuQos{yes_no("enable"), whole("groupIdentity", -1, 2), whole("schedIdle", 0, 1),
                             yes_no("coreExpeller")};
constexpr Shape kCpuQosShape{.fields = kCpuQos};

constexpr std::array kMemoryQos{
    yes_no("enable"),
    percent("minLimitPercent"),
    percent("lowLimitPercent"),
    percent("throttlingPercent"),
    percent("wmarkRatio"),
    whole("wmarkScalePermill", 1, 1000),
    whole("wmarkMinAdj", -25, 50),
    whole("priorityEnable", 0, 1),
    whole("priority", 0, 12),
    whole("oomKillGroup", 0, 1),
    yes_no("pageCacheEnable"),
    percent("pageCacheLimitPercent"),
    whole("pageCacheLimitSize", 0, kNoHighest, true),
    yes_no("pageCacheReclaimSync"),
};
constexpr Shape kMemoryQosShape{.fields = kMemoryQos};

constexpr std::array<std::string_view, 3> kBlockTypes{"device", "volumegroup", "podvolume"};
constexpr std::array kIoCfg{
    whole("readIOPS", 0, kNoHighest, true),          whole("writeIOPS", 0, kNoHighest, true),
    whole("readBPS", 0, kNoHighest, true),           whole("writeBPS", 0, kNoHighest, true),
    whole("ioWeightPercent", 1, 100, true),          whole("readLatency", 0, kNoHighest, true),
    whole("writeLatency", 0, kNoHighest, true),      whole("readLatencyPercent", 0, 100, true),
    whole("writeLatencyPercent", 0, 100, true),      yes_no("enableUserModel"),
    whole("modelReadBPS", 1, kNoHighest, true),      whole("modelWriteBPS", 1, kNoHighest, true),
    whole("modelReadSeqIOPS", 1, kNoHighest, true),  whole("modelWriteSeqIOPS", 1, kNoHighest, true),
    whole("modelReadRandIOPS", 1, kNoHighest, true), whole("modelWriteRandIOPS", 1, kNoHighest, true),
};
constexpr Shape kIoCfgShape{.fields = kIoCfg};
constexpr std::array kBlock{of_kind("name", SettingsKind::kText), choice("type", kBlockTypes),
                            of_kind("ioCfg", SettingsKind::kObject, &kIoCfgShape)};
constexpr Shape kBlockShape{.fields = kBlock};
constexpr std::array kBlkioQos{yes_no("enable"), of_kind("blocks", SettingsKind::kObjects, &kBlockShape)};
constexpr Shape kBlkioQosShape{.fields = kBlkioQos};

constexpr std::array kResctrlQos{yes_no("enable"), percent("catRangeStartPercent"), percent("catRangeEndPercent"),
                                 percent("mbaPercent")};
constexpr std::array<SettingsPair, 1> kResctrlPairs{{{"catRangeStartPercent", "catRangeEndPercent"}}};
constexpr Shape kResctrlQosShape{.fields = kResctrlQos, .pairs = kResctrlPairs};

constexpr std::array kNetworkQos{yes_no("enable"), of_kind("ingressRequest", SettingsKind::kShareOrQuantity),
                                 of_kind("ingressLimit", SettingsKind::kShareOrQuantity),
                                 of_kind("egressRequest", SettingsKind::kShareOrQuantity),
                                 of_kind("egressLimit", SettingsKind::kShareOrQuantity)};
constexpr Shape kNetworkQosShape{.fields = kNetworkQos};

constexpr std::array kClass{of_kind("cpuQOS", SettingsKind::kObject, &kCpuQosShape),
                            of_kind("memoryQOS", SettingsKind::kObject, &kMemoryQosShape),
                            of_kind("blkioQOS", SettingsKind::kObject, &kBlkioQosShape),
                            of_kind("resctrlQOS", SettingsKind::kObject, &kResctrlQosShape),
                            of_kind("networkQOS", SettingsKind::kObject, &kNetworkQosShape)};
constexpr Shape kClassShape{.fields = kClass};
constexpr std::array kQos{of_kind("policies", SettingsKind::kObject, &kPoliciesShape),
                          of_kind("lsrClass", SettingsKind::kObject, &kClassShape),
                          of_kind("lsClass", SettingsKind::kObject, &kClassShape),
                          of_kind("beClass", SettingsKind::kObject, &kClassShape),
                          of_kind("systemClass", SettingsKind::kObject, &kClassShape),
                          of_kind("cgroupRoot", SettingsKind::kObject, &kClassShape)};
constexpr Shape kQosShape{.fields = kQos};

// ---- system-config, cpu-burst-config (contract 3.2) ----

constexpr std::array kSystem{
    whole("minFreeKbytesFactor", 1),
    whole("watermarkScaleFactor", 1, 400),
    whole("memcgReapBackGround", 0, 1),
    whole("schedGroupIdentityEnabled", 0, 1, true),
    whole("schedIdleSaverWmark", 0, kNoHighest, true),
    of_kind("schedFeatures", SettingsKind::kBools),
    whole("pageCacheLimitEnabled", 0, 1),
    of_kind("totalNetworkBandwidth", SettingsKind::kQuantity),
};
constexpr Shape kSystemShape{.fields = kSystem};

constexpr std::array<std::string_view, 4> kBurstPolicies{"none", "cpuBurstOnly", "cfsQuotaBurstOnly", "auto"};
constexpr std::array kBurst{choice("policy", kBurstPolicies), whole("cpuBurstPercent", 1, 10000),
                            whole("cfsQuotaBurstPercent", 100), whole("cfsQuotaBurstPeriodSeconds", -1),
                            percent("sharePoolThresholdPercent")};
constexpr Shape kBurstShape{.fields = kBurst};

// ---- keys that Koordinator's webhook does not check (contract 4, 5.7) ----

constexpr std::array<std::string_view, 4> kPriorities{"koord-prod", "koord-mid", "koord-batch", "koord-free"};
constexpr std::array<std::string_view, 5> kQosClasses{"LSE", "LSR", "LS", "BE", "SYSTEM"};
constexpr std::array<std::string_view, 4> kCgroupBases{"CgroupRoot", "Kubepods", "KubepodsBurstable",
                                                       "KubepodsBesteffort"};
constexpr std::array kCgroupPath{choice("base", kCgroupBases), of_kind("parentDir", SettingsKind::kText),
                                 of_kind("relativePath", SettingsKind::kText)};
constexpr Shape kCgroupPathShape{.fields = kCgroupPath};
constexpr std::array kApplication{
    of_kind("name", SettingsKind::kText), choice("priority", kPriorities), choice("qos", kQosClasses),
    of_kind("cgroupPath", SettingsKind::kObject, &kCgroupPathShape), of_kind("strategy", SettingsKind::kAnything)};
constexpr Shape kApplicationShape{.fields = kApplication};
constexpr std::array kHostApplications{of_kind("applications", SettingsKind::kObjects, &kApplicationShape)};
constexpr Shape kHostApplicationsShape{.fields = kHostApplications};

constexpr double kRatioLowest = 1.0;
constexpr double kRatioHighest = 5.0;
constexpr std::array kModelRatios{
    number("baseRatio", SettingsKind::kNumber, kRatioLowest, kRatioHighest),
    number("hyperThreadEnabledRatio", SettingsKind::kNumber, kRatioLowest, kRatioHighest),
    number("turboEnabledRatio", SettingsKind::kNumber, kRatioLowest, kRatioHighest),
    number("hyperThreadTurboEnabledRatio", SettingsKind::kNumber, kRatioLowest, kRatioHighest),
};
constexpr Shape kModelRatiosShape{.fields = kModelRatios};
constexpr std::array kNormalization{yes_no("enable"),
                                    number("defaultRatio", SettingsKind::kNumber, kRatioLowest, kRatioHighest),
                                    of_kind("ratioModel", SettingsKind::kShapes, &kModelRatiosShape)};
constexpr Shape kNormalizationShape{.fields = kNormalization};
constexpr std::array kAmplification{yes_no("enable"),
                                    number("resourceAmplificationRatio", SettingsKind::kNumbers, 1.0, kNoEnd)};
constexpr Shape kAmplificationShape{.fields = kAmplification};

constexpr std::array<SettingsDocument, 8> kDocuments{{
    {.key = "colocation-config", .strategy = &kColocationShape},
    {.key = "resource-threshold-config", .strategy = &kThresholdShape, .nested = true},
    {.key = "resource-qos-config", .strategy = &kQosShape, .nested = true},
    {.key = "system-config", .strategy = &kSystemShape, .nested = true},
    {.key = "cpu-burst-config", .strategy = &kBurstShape, .nested = true},
    {.key = "host-application-config", .strategy = &kHostApplicationsShape, .ours = true},
    {.key = "cpu-normalization-config", .strategy = &kNormalizationShape, .ours = true},
    {.key = "resource-amplification-config", .strategy = &kAmplificationShape, .ours = true},
}};

}  // namespace

std::span<const SettingsDocument> settings_documents() {
  return kDocuments;
}

}  // namespace tidemark::policy::settings
