#include "agent/feature_gates.h"

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tidemark::agent {
namespace {

// The gates of Koordinator's agent, with its defaults.
constexpr base::FeatureGate kGates[] = {
    {"BECPUSuppress", true, true},
    {"GroupIdentity", true, true},
    {"BatchResource", true, true},
    {"BECPUEvict", false, true},
    {"CPUEvict", false, true},
    {"CPUAllocatableEvict", false, true},
    {"BEMemoryEvict", false, true},
    {"MemoryEvict", false, true},
    {"MemoryAllocatableEvict", false, true},
    {"CPUBurst", true},
    {"RdtResctrl", true},
    {"NodeTopologyReport", true},
    {"CPUSetAllocator", true},
    {"CgroupReconcile"},
    {"BECPUManager"},
    {"BlkIOReconcile"},
    {"SystemConfig"},
    {"CPUNormalization"},
    {"CoreSched"},
    {"TCNetworkQoS"},
    {"TerwayQoS"},
    {"Resctrl"},
    {"OOMScoreAdj"},
    {"GPUEnvInject"},
    {"RDMADeviceInject"},
    {kCpiGate, false, true},
    {"Libpfm4"},
    {"PSICollector"},
    {"ResctrlCollector"},
    {"ColdPageCollector"},
    {"HugePageReport"},
    {"Accelerators"},
    {"RDMADevices"},
    {"PerCPUMetric"},
    {"NodeMetricPromMetrics"},
    {"AuditEvents"},
    {"AuditEventsHTTPHandler"},
    {"PodResourcesProxy"},
    {"HamiCoreVGPUMonitor"},
};

}  // namespace

FeatureGates::FeatureGates() : base::FeatureGates(kGates) {}

policy::evict::EvictSwitches FeatureGates::evictions() const {
  policy::evict::EvictSwitches out;
  for (std::size_t i = 0; i < policy::evict::kEvictFeatures; ++i) {
    const auto feature = static_cast<policy::evict::EvictFeature>(i);
    if (enabled(to_string(feature))) out.set(feature);
  }
  return out;
}

bool FeatureGates::lets(model::Strategy strategy) const {
  switch (strategy) {
    case model::Strategy::kCpuSuppress:
      return enabled("BECPUSuppress");
    case model::Strategy::kBatchLimits:
      return enabled("BatchResource");
    case model::Strategy::kCpuPriority:
      return enabled("GroupIdentity");
    // Koordinator has no such feature (its gate OOMScoreAdj concerns an annotation): only our settings enable it.
    case model::Strategy::kOomOrder:
      return false;
    case model::Strategy::kClassWeights:
    case model::Strategy::kEviction:
      return true;
  }
  return true;
}

std::string FeatureGates::on_without_effect() const {
  std::vector<std::string> names;
  for (const base::FeatureGate& gate : kGates) {
    if (!gate.built && enabled(gate.name)) names.emplace_back(gate.name);
  }
  return base::join(names, ", ");
}

Result<FeatureGates> parse_feature_gates(std::span<const std::string> words) {
  FeatureGates gates;
  if (auto taken = gates.take(words); !taken) return fail(std::move(taken).error());
  return gates;
}

}  // namespace tidemark::agent
