#include "policy/settings/nodeslo/read_rules.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "model/quantity.h"
#include "policy/evict/budget/grants.h"
#include "policy/settings/nodeslo/agent_word.h"
#include "policy/settings/nodeslo/class_qos.h"
#include "policy/settings/nodeslo/fields.h"
#include "policy/settings/nodeslo/line_caps.h"
#include "policy/settings/nodeslo/parts.h"
#include "policy/settings/nodeslo/told.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;
using base::JsonObject;

// The separate parts, so that each is parsed on its own.
constexpr std::array kParts{
    Field{"resourceUsedThresholdWithBE", FieldKind::kRaw},
    Field{"resourceQOSStrategy", FieldKind::kRaw},
    Field{"cpuBurstStrategy", FieldKind::kRaw},
    Field{"systemStrategy", FieldKind::kRaw},
    Field{kSloExtensions, FieldKind::kRaw},
};
constexpr ObjectSchema kPartsSchema{kParts};

constexpr std::array<std::string_view, 3> kSuppressPolicies{"cpuset", "cfsQuota", "idle"};
constexpr std::array<std::string_view, 2> kEvictPolicies{"evictByRealLimit", "evictByAllocatable"};
constexpr std::array<std::string_view, 4> kBurstPolicies{"none", "cpuBurstOnly", "cfsQuotaBurstOnly", "auto"};

using Threshold = protect::ThresholdRules;
constexpr auto kThresholdSlots = std::to_array<Slot<Threshold>>({
    {"enable", &Threshold::enable},
    {"cpuSuppressThresholdPercent", &Threshold::cpu_suppress_percent},
    {"cpuSuppressMinPercent", &Threshold::cpu_suppress_min_percent},
    {"memoryEvictThresholdPercent", &Threshold::memory_evict_percent},
    {"memoryEvictLowerPercent", &Threshold::memory_evict_lower_percent},
    {"memoryAllocatableEvictThresholdPercent", &Threshold::memory_allocatable_evict_percent},
    {"memoryAllocatableEvictLowerPercent", &Threshold::memory_allocatable_evict_lower_percent},
    {"cpuEvictBESatisfactionUpperPercent", &Threshold::cpu_evict_satisfaction_upper_percent},
    {"cpuEvictBESatisfactionLowerPercent", &Threshold::cpu_evict_satisfaction_lower_percent},
    {"cpuEvictBEUsageThresholdPercent", &Threshold::cpu_evict_usage_percent},
    {"cpuEvictTimeWindowSeconds", &Threshold::cpu_evict_window_s},
    {"cpuEvictThresholdPercent", &Threshold::cpu_evict_percent},
    {"cpuEvictLowerPercent", &Threshold::cpu_evict_lower_percent},
    {"cpuAllocatableEvictThresholdPercent", &Threshold::cpu_allocatable_evict_percent},
    {"cpuAllocatableEvictLowerPercent", &Threshold::cpu_allocatable_evict_lower_percent},
    {"evictEnabledPriorityThreshold", &Threshold::evict_priority},
    {"allocatableEvictPriorityThreshold", &Threshold::allocatable_evict_priority},
});

constexpr auto kBurstSlots = std::to_array<Slot<protect::BurstRules>>({
    {"cpuBurstPercent", &protect::BurstRules::cpu_burst_percent},
    {"cfsQuotaBurstPercent", &protect::BurstRules::quota_burst_percent},
    {"cfsQuotaBurstPeriodSeconds", &protect::BurstRules::quota_burst_period_s},
    {"sharePoolThresholdPercent", &protect::BurstRules::share_pool_percent},
});

constexpr auto kSystemSlots = std::to_array<Slot<protect::SystemRules>>({
    {"minFreeKbytesFactor", &protect::SystemRules::min_free_kbytes_factor},
    {"watermarkScaleFactor", &protect::SystemRules::watermark_scale_factor},
    {"memcgReapBackGround", &protect::SystemRules::memcg_reap_background},
    {"schedGroupIdentityEnabled", &protect::SystemRules::group_identity_enabled},
    {"schedIdleSaverWmark", &protect::SystemRules::idle_saver_wmark},
    {"pageCacheLimitEnabled", &protect::SystemRules::page_cache_limit_enabled},
});

Result<protect::ThresholdRules> read_threshold(const JsonObject& given, RuleNotes& notes) {
  protect::ThresholdRules rules;
  fill<protect::ThresholdRules>(rules, given, kThresholdSlots);
  rules.cpu_suppress_policy =
      static_cast<protect::SuppressPolicy>(choice_of(given, "cpuSuppressPolicy", kSuppressPolicies, notes));
  rules.cpu_evict_policy =
      static_cast<protect::CpuEvictPolicy>(choice_of(given, "cpuEvictPolicy", kEvictPolicies, notes));
  return rules;
}

Result<protect::BurstRules> read_burst(const JsonObject& given, RuleNotes& notes) {
  protect::BurstRules rules;
  fill<protect::BurstRules>(rules, given, kBurstSlots);
  rules.policy = static_cast<protect::BurstPolicy>(choice_of(given, "policy", kBurstPolicies, notes));
  return rules;
}

Result<protect::SystemRules> read_system(const JsonObject& given, RuleNotes&) {
  protect::SystemRules rules;
  fill<protect::SystemRules>(rules, given, kSystemSlots);
  if (const Json* features = given.find("schedFeatures")) {
    const JsonObject& all = features->as_object();
    if (all.size() > protect::kSchedFeaturesMax) {
      return fail(ErrorKind::kInvalid, "schedFeatures: at most ", protect::kSchedFeaturesMax, " are read, found ",
                  all.size());
    }
    for (const auto& [name, on] : all) rules.sched_features.insert_or_assign(name, on.as_bool());
  }
  if (const Json* bandwidth = given.find("totalNetworkBandwidth")) {
    TM_TRY(const auto amount, model::Quantity::parse(bandwidth->as_string()));
    rules.network_bandwidth = amount.scaled_value_saturated(0);
  }
  return rules;
}

// Parses one part into `rules`, or leaves it unchanged.
template <class Rules, class Read>
void take(const JsonObject& parts, model::SloPart part, const Read& read, Rules& rules,
          std::vector<RulesProblem>& problems) {
  const SloPartInfo& info = slo_part_info(part);
  const std::string name(info.field);
  JsonObject given;
  if (const Json* said = parts.find(info.field)) {
    if (auto typed = read_typed(said->dump(), *info.schema, given); !typed) {
      problems.push_back({name, std::move(typed).error().message});
      return;
    }
  }
  RuleNotes notes;
  auto made = read(given, notes);
  if (made) {
    rules = *std::move(made);
  } else {
    notes.push_back(std::move(made).error().message);
  }
  for (std::string& note : notes) problems.push_back({name, std::move(note)});
}

// A grant is valid until its end: an unreadable one revokes nothing.
void take_grant(const Json& ours, std::optional<model::NodeGrant>& grant, std::vector<RulesProblem>& problems) {
  if (ours.member("evictions") == nullptr) {
    grant.reset();
  } else if (auto granted = evict::read_grant(ours)) {
    grant = *std::move(granted);
  } else {
    problems.push_back(
        {cat(kSloExtensions, ".", kSloObject, ".", kSloOurs, ".evictions"), std::move(granted).error().message});
  }
}

// Unreadable text neither cancels nor gives an order.
void take_reclaim(const Json& ours, std::vector<model::Reclaim>& reclaim, std::vector<RulesProblem>& problems) {
  if (auto read = read_node_reclaim(ours)) {
    reclaim = std::move(read->classes);
  } else {
    problems.push_back(
        {cat(kSloExtensions, ".", kSloObject, ".", kSloOurs, ".reclaim"), std::move(read).error().message});
  }
}

// An unreadable end cancels no known one.
void take_line_caps(const Json& ours, std::vector<model::LineCap>& caps, std::vector<RulesProblem>& problems) {
  if (auto read = read_line_caps(ours)) {
    caps = *std::move(read);
  } else {
    problems.push_back({cat(kSloExtensions, ".", kSloObject, ".", kSloOurs), std::move(read).error().message});
  }
}

void take_ours(const JsonObject& parts, protect::NodeRules& rules, std::vector<RulesProblem>& problems) {
  const Json* extensions = parts.find(kSloExtensions);
  const Json* ours = extensions == nullptr ? nullptr : extensions->at(kSloObject, kSloOurs);
  if (ours == nullptr || ours->is_null()) {
    rules.word.reset();
    rules.grant.reset();
    rules.reclaim.clear();
    rules.line_caps.clear();
    return;
  }
  take_grant(*ours, rules.grant, problems);
  take_reclaim(*ours, rules.reclaim, problems);
  take_line_caps(*ours, rules.line_caps, problems);
  auto read = read_agent_word(*ours);
  if (read) {
    rules.word = *std::move(read);
    return;
  }
  problems.push_back({cat(kSloExtensions, ".", kSloObject, ".", kSloOurs), std::move(read).error().message});
  if (!rules.heard) rules.word = model::AgentWord{{model::Mode::kObserve, {}}};
}

}  // namespace

NodeRulesStep next_node_rules(const protect::NodeRules& before, std::optional<std::string_view> spec) {
  if (!spec) return {};
  NodeRulesStep out{before, {}};
  JsonObject parts;
  if (!base::trim(*spec).empty()) {
    if (auto read = read_typed(*spec, kPartsSchema, parts); !read) {
      out.problems.push_back({"spec", std::move(read).error().message});
      return out;
    }
  }
  take(parts, model::SloPart::kThreshold, read_threshold, out.rules.threshold, out.problems);
  take(parts, model::SloPart::kQos, read_qos_rules, out.rules.qos, out.problems);
  take(parts, model::SloPart::kCpuBurst, read_burst, out.rules.burst, out.problems);
  take(parts, model::SloPart::kSystem, read_system, out.rules.system, out.problems);
  take_ours(parts, out.rules, out.problems);
  out.rules.heard = true;
  return out;
}

}  // namespace tidemark::policy::settings
