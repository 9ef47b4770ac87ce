#include "policy/protect/node_rules.h"

#include "base/text.h"

namespace tidemark::policy::protect {
namespace {

// Defaults of Koordinator's manager. It renders them into each NodeSLO.
constexpr std::int64_t kMinFreeKbytesFactor = 100;
constexpr std::int64_t kWatermarkScaleFactor = 150;

void add_class(std::vector<std::string>& names, std::string_view name, const ClassQos& qos) {
  const auto add = [&](bool set, std::string_view part) {
    if (set) names.push_back(base::cat("resourceQOSStrategy.", name, ".", part));
  };
  add(qos.memory.enable, "memoryQOS");
  add(qos.blkio.enable, "blkioQOS");
  add(qos.resctrl.enable, "resctrlQOS");
  add(qos.network.enable, "networkQOS");
}

void add_system(std::vector<std::string>& names, const SystemRules& system) {
  const auto add = [&](bool set, std::string_view part) {
    if (set) names.push_back(base::cat("systemStrategy.", part));
  };
  add(system.min_free_kbytes_factor.value_or(kMinFreeKbytesFactor) != kMinFreeKbytesFactor, "minFreeKbytesFactor");
  add(system.watermark_scale_factor.value_or(kWatermarkScaleFactor) != kWatermarkScaleFactor, "watermarkScaleFactor");
  add(system.memcg_reap_background.value_or(0) != 0, "memcgReapBackGround");
  add(system.group_identity_enabled.has_value(), "schedGroupIdentityEnabled");
  add(system.idle_saver_wmark.has_value(), "schedIdleSaverWmark");
  add(!system.sched_features.empty(), "schedFeatures");
  add(system.page_cache_limit_enabled.has_value(), "pageCacheLimitEnabled");
}

}  // namespace

model::Mode NodeRules::mode_of(model::Strategy strategy) const {
  return word ? word->modes.of(strategy) : model::Mode::kEnforce;
}

model::EvictSettings NodeRules::evict_settings() const {
  return word ? word->evict : model::EvictSettings();
}

std::vector<std::string> settings_without_effect(const NodeRules& rules) {
  std::vector<std::string> names;
  if (rules.burst.policy != BurstPolicy::kNone) names.emplace_back("cpuBurstStrategy");
  if (rules.qos.cpu_policy == CpuQosPolicy::kCoreSched) names.emplace_back("resourceQOSStrategy.policies.cpuPolicy");
  add_class(names, "lsrClass", rules.qos.lsr);
  add_class(names, "lsClass", rules.qos.ls);
  add_class(names, "beClass", rules.qos.be);
  add_class(names, "systemClass", rules.qos.system);
  add_class(names, "cgroupRoot", rules.qos.root);
  add_system(names, rules.system);
  return names;
}

std::string without_effect_text(const NodeRules& rules) {
  const std::vector<std::string> names = settings_without_effect(rules);
  return names.empty() ? "" : base::cat("set, without effect with Tidemark's agent: ", base::join(names, ", "));
}

}  // namespace tidemark::policy::protect
