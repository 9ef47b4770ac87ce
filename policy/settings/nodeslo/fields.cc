#include "policy/settings/nodeslo/fields.h"

#include <array>

namespace tidemark::policy::settings {
namespace {

using enum FieldKind;

constexpr std::array kThreshold{
    Field{"enable", kBool},
    Field{"cpuSuppressThresholdPercent", kInt64},
    Field{"cpuSuppressMinPercent", kInt64},
    Field{"cpuSuppressPolicy", kText},
    Field{"memoryEvictThresholdPercent", kInt64},
    Field{"memoryEvictLowerPercent", kInt64},
    Field{"memoryAllocatableEvictThresholdPercent", kInt64},
    Field{"memoryAllocatableEvictLowerPercent", kInt64},
    Field{"cpuEvictBESatisfactionUpperPercent", kInt64},
    Field{"cpuEvictBESatisfactionLowerPercent", kInt64},
    Field{"cpuEvictBEUsageThresholdPercent", kInt64},
    Field{"cpuEvictTimeWindowSeconds", kInt64},
    Field{"cpuEvictThresholdPercent", kInt64},
    Field{"cpuEvictLowerPercent", kInt64},
    Field{"cpuAllocatableEvictThresholdPercent", kInt64},
    Field{"cpuAllocatableEvictLowerPercent", kInt64},
    Field{"cpuEvictPolicy", kText},
    Field{"evictEnabledPriorityThreshold", kInt32},
    Field{"allocatableEvictPriorityThreshold", kInt32},
};

constexpr std::array kCpuQos{
    Field{"enable", kBool},
    Field{"groupIdentity", kInt64},
    Field{"schedIdle", kInt64},
    Field{"coreExpeller", kBool},
};
constexpr ObjectSchema kCpuQosSchema{kCpuQos};

constexpr std::array kMemoryQos{
    Field{"enable", kBool},
    Field{"minLimitPercent", kInt64},
    Field{"lowLimitPercent", kInt64},
    Field{"throttlingPercent", kInt64},
    Field{"wmarkRatio", kInt64},
    Field{"wmarkScalePermill", kInt64},
    Field{"wmarkMinAdj", kInt64},
    Field{"priorityEnable", kInt64},
    Field{"priority", kInt64},
    Field{"oomKillGroup", kInt64},
    Field{"pageCacheEnable", kBool},
    Field{"pageCacheLimitPercent", kInt64},
    Field{"pageCacheLimitSize", kInt64},
    Field{"pageCacheReclaimSync", kBool},
};
constexpr ObjectSchema kMemoryQosSchema{kMemoryQos};

constexpr std::array kIoConfig{
    Field{"readIOPS", kInt64},           Field{"writeIOPS", kInt64},          Field{"readBPS", kInt64},
    Field{"writeBPS", kInt64},           Field{"ioWeightPercent", kInt64},    Field{"readLatency", kInt64},
    Field{"writeLatency", kInt64},       Field{"readLatencyPercent", kInt64}, Field{"writeLatencyPercent", kInt64},
    Field{"enableUserModel", kBool},     Field{"modelReadBPS", kInt64},       Field{"modelWriteBPS", kInt64},
    Field{"modelReadSeqIOPS", kInt64},   Field{"modelWriteSeqIOPS", kInt64},  Field{"modelReadRandIOPS", kInt64},
    Field{"modelWriteRandIOPS", kInt64},
};
constexpr ObjectSchema kIoConfigSchema{kIoConfig};

constexpr std::array kBlock{
    Field{"name", kText},
    Field{"type", kText},
    Field{"ioCfg", kInline, &kIoConfigSchema},
};
constexpr ObjectSchema kBlockSchema{kBlock};

constexpr std::array kBlockIoQos{
    Field{"enable", kBool},
    Field{"blocks", kObjectPointers, &kBlockSchema},
};
constexpr ObjectSchema kBlockIoQosSchema{kBlockIoQos};

constexpr std::array kResctrlQos{
    Field{"enable", kBool},
    Field{"catRangeStartPercent", kInt64},
    Field{"catRangeEndPercent", kInt64},
    Field{"mbaPercent", kInt64},
};
constexpr ObjectSchema kResctrlQosSchema{kResctrlQos};

constexpr std::array kNetworkQos{
    Field{"enable", kBool},
    Field{"ingressRequest", kIntOrString},
    Field{"ingressLimit", kIntOrString},
    Field{"egressRequest", kIntOrString},
    Field{"egressLimit", kIntOrString},
};
constexpr ObjectSchema kNetworkQosSchema{kNetworkQos};

constexpr std::array kClassQos{
    Field{"cpuQOS", kObject, &kCpuQosSchema},         Field{"memoryQOS", kObject, &kMemoryQosSchema},
    Field{"blkioQOS", kObject, &kBlockIoQosSchema},   Field{"resctrlQOS", kObject, &kResctrlQosSchema},
    Field{"networkQOS", kObject, &kNetworkQosSchema},
};
constexpr ObjectSchema kClassQosSchema{kClassQos};

constexpr std::array kPolicies{
    Field{"cpuPolicy", kTextPointer},
    Field{"netQOSPolicy", kTextPointer},
};
constexpr ObjectSchema kPoliciesSchema{kPolicies};

constexpr std::array kQos{
    Field{"policies", kObject, &kPoliciesSchema},    Field{"lsrClass", kObject, &kClassQosSchema},
    Field{"lsClass", kObject, &kClassQosSchema},     Field{"beClass", kObject, &kClassQosSchema},
    Field{"systemClass", kObject, &kClassQosSchema}, Field{"cgroupRoot", kObject, &kClassQosSchema},
};

constexpr std::array kCpuBurst{
    Field{"policy", kText},
    Field{"cpuBurstPercent", kInt64},
    Field{"cfsQuotaBurstPercent", kInt64},
    Field{"cfsQuotaBurstPeriodSeconds", kInt64},
    Field{"sharePoolThresholdPercent", kInt64},
};

constexpr std::array kSystem{
    Field{"minFreeKbytesFactor", kInt64},   Field{"watermarkScaleFactor", kInt64},
    Field{"memcgReapBackGround", kInt64},   Field{"schedGroupIdentityEnabled", kInt64},
    Field{"schedIdleSaverWmark", kInt64},   Field{"schedFeatures", kSwitches},
    Field{"pageCacheLimitEnabled", kInt64}, Field{"totalNetworkBandwidth", kQuantity},
};

constexpr std::array kCgroupPath{
    Field{"base", kText},
    Field{"parentDir", kText},
    Field{"relativePath", kText},
};
constexpr ObjectSchema kCgroupPathSchema{kCgroupPath};
constexpr ObjectSchema kNothingSchema{};  // a struct without fields

constexpr std::array kHostApplication{
    Field{"name", kText},
    Field{"priority", kText},
    Field{"qos", kText},
    Field{"cgroupPath", kObject, &kCgroupPathSchema},
    Field{"strategy", kObject, &kNothingSchema},
};

}  // namespace

constexpr ObjectSchema kThresholdSchema{kThreshold};
constexpr ObjectSchema kQosSchema{kQos};
constexpr ObjectSchema kCpuBurstSchema{kCpuBurst};
constexpr ObjectSchema kSystemSchema{kSystem};
constexpr ObjectSchema kHostApplicationSchema{kHostApplication};

namespace {

constexpr std::array kHostApplications{
    Field{"applications", kObjects, &kHostApplicationSchema},
};

constexpr std::array kSloSpec{
    Field{"resourceUsedThresholdWithBE", kObject, &kThresholdSchema},
    Field{"resourceQOSStrategy", kObject, &kQosSchema},
    Field{"cpuBurstStrategy", kObject, &kCpuBurstSchema},
    Field{"systemStrategy", kObject, &kSystemSchema},
    Field{"extensions", kRaw},
    Field{"hostApplications", kObjects, &kHostApplicationSchema},
};

// Name and selector of an entry; its strategy is beside them.
constexpr std::array kProfile{
    Field{"name", kText},
    Field{"nodeSelector", kRaw},
};

constexpr ObjectSchema kThresholdEntry{kProfile, &kThresholdSchema};
constexpr std::array kThresholdConfig{
    Field{"clusterStrategy", kObject, &kThresholdSchema},
    Field{"nodeStrategies", kObjects, &kThresholdEntry},
};
constexpr ObjectSchema kQosEntry{kProfile, &kQosSchema};
constexpr std::array kQosConfig{
    Field{"clusterStrategy", kObject, &kQosSchema},
    Field{"nodeStrategies", kObjects, &kQosEntry},
};
constexpr ObjectSchema kCpuBurstEntry{kProfile, &kCpuBurstSchema};
constexpr std::array kCpuBurstConfig{
    Field{"clusterStrategy", kObject, &kCpuBurstSchema},
    Field{"nodeStrategies", kObjects, &kCpuBurstEntry},
};
constexpr ObjectSchema kSystemEntry{kProfile, &kSystemSchema};
constexpr std::array kSystemConfig{
    Field{"clusterStrategy", kObject, &kSystemSchema},
    Field{"nodeStrategies", kObjects, &kSystemEntry},
};

}  // namespace

constexpr ObjectSchema kHostApplicationsSchema{kHostApplications};

namespace {

constexpr ObjectSchema kHostApplicationEntry{kProfile, &kHostApplicationsSchema};
constexpr std::array kHostApplicationConfig{
    Field{"applications", kObjects, &kHostApplicationSchema},
    Field{"nodeConfigs", kObjects, &kHostApplicationEntry},
};

}  // namespace

constexpr ObjectSchema kSloSpecSchema{kSloSpec};
constexpr ObjectSchema kThresholdConfigSchema{kThresholdConfig};
constexpr ObjectSchema kQosConfigSchema{kQosConfig};
constexpr ObjectSchema kCpuBurstConfigSchema{kCpuBurstConfig};
constexpr ObjectSchema kSystemConfigSchema{kSystemConfig};
constexpr ObjectSchema kHostApplicationConfigSchema{kHostApplicationConfig};

}  // namespace tidemark::policy::settings
