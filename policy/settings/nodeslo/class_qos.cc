#include "policy/settings/nodeslo/class_qos.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "model/quantity.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;
using base::JsonObject;

constexpr auto kCpuSlots = std::to_array<Slot<protect::CpuQos>>({
    {"enable", &protect::CpuQos::enable},
    {"groupIdentity", &protect::CpuQos::group_identity},
    {"schedIdle", &protect::CpuQos::sched_idle},
    {"coreExpeller", &protect::CpuQos::core_expeller},
});

constexpr auto kMemorySlots = std::to_array<Slot<protect::MemoryQos>>({
    {"enable", &protect::MemoryQos::enable},
    {"minLimitPercent", &protect::MemoryQos::min_limit_percent},
    {"lowLimitPercent", &protect::MemoryQos::low_limit_percent},
    {"throttlingPercent", &protect::MemoryQos::throttling_percent},
    {"wmarkRatio", &protect::MemoryQos::wmark_ratio},
    {"wmarkScalePermill", &protect::MemoryQos::wmark_scale_permill},
    {"wmarkMinAdj", &protect::MemoryQos::wmark_min_adj},
    {"priorityEnable", &protect::MemoryQos::priority_enable},
    {"priority", &protect::MemoryQos::priority},
    {"oomKillGroup", &protect::MemoryQos::oom_kill_group},
    {"pageCacheEnable", &protect::MemoryQos::page_cache_enable},
    {"pageCacheLimitPercent", &protect::MemoryQos::page_cache_limit_percent},
    {"pageCacheLimitSize", &protect::MemoryQos::page_cache_limit_bytes},
    {"pageCacheReclaimSync", &protect::MemoryQos::page_cache_reclaim_sync},
});

constexpr auto kIoSlots = std::to_array<Slot<protect::IoRules>>({
    {"readIOPS", &protect::IoRules::read_iops},
    {"writeIOPS", &protect::IoRules::write_iops},
    {"readBPS", &protect::IoRules::read_bytes_per_s},
    {"writeBPS", &protect::IoRules::write_bytes_per_s},
    {"ioWeightPercent", &protect::IoRules::weight_percent},
    {"readLatency", &protect::IoRules::read_latency_us},
    {"writeLatency", &protect::IoRules::write_latency_us},
    {"readLatencyPercent", &protect::IoRules::read_latency_percent},
    {"writeLatencyPercent", &protect::IoRules::write_latency_percent},
    {"enableUserModel", &protect::IoRules::user_model},
    {"modelReadBPS", &protect::IoRules::model_read_bytes_per_s},
    {"modelWriteBPS", &protect::IoRules::model_write_bytes_per_s},
    {"modelReadSeqIOPS", &protect::IoRules::model_read_sequential_iops},
    {"modelWriteSeqIOPS", &protect::IoRules::model_write_sequential_iops},
    {"modelReadRandIOPS", &protect::IoRules::model_read_random_iops},
    {"modelWriteRandIOPS", &protect::IoRules::model_write_random_iops},
});

constexpr auto kResctrlSlots = std::to_array<Slot<protect::ResctrlQos>>({
    {"enable", &protect::ResctrlQos::enable},
    {"catRangeStartPercent", &protect::ResctrlQos::cat_start_percent},
    {"catRangeEndPercent", &protect::ResctrlQos::cat_end_percent},
    {"mbaPercent", &protect::ResctrlQos::mba_percent},
});

constexpr auto kNetworkSlots = std::to_array<Slot<protect::NetworkQos>>({{"enable", &protect::NetworkQos::enable}});

struct ShareSlot {
  std::string_view name;
  protect::NetworkShare protect::NetworkQos::* at;
};
constexpr std::array<ShareSlot, 4> kShareSlots{{
    {"ingressRequest", &protect::NetworkQos::ingress_request},
    {"ingressLimit", &protect::NetworkQos::ingress_limit},
    {"egressRequest", &protect::NetworkQos::egress_request},
    {"egressLimit", &protect::NetworkQos::egress_limit},
}};

constexpr std::array<std::string_view, 3> kBlockKinds{"device", "volumegroup", "podvolume"};
constexpr std::array<std::string_view, 2> kCpuPolicies{"groupIdentity", "coreSched"};
constexpr std::array<std::string_view, 2> kNetworkPolicies{"tc", "terway-qos"};

// ---- the agent's defaults, contract 4.4 ----

protect::ClassQos class_defaults(std::int64_t group_identity, bool core_expeller, std::int64_t cat_end_percent,
                                 std::int64_t wmark_min_adj) {
  protect::ClassQos out;
  out.cpu.group_identity = group_identity;
  out.cpu.core_expeller = core_expeller;
  out.resctrl.cat_end_percent = cat_end_percent;
  out.memory.wmark_ratio = 95;
  out.memory.wmark_scale_permill = 20;
  out.memory.wmark_min_adj = wmark_min_adj;
  return out;
}
protect::ClassQos online_defaults() {
  return class_defaults(2, true, 100, -25);
}
protect::ClassQos offline_defaults() {
  return class_defaults(-1, false, 30, 50);
}

void reset_disabled(protect::ClassQos& rules) {
  if (!rules.cpu.enable) rules.cpu = {};
  if (!rules.memory.enable) rules.memory = {};
  if (!rules.resctrl.enable) rules.resctrl = {};
}

// ---- reading ----

const JsonObject* part_of(const JsonObject& given, std::string_view name) {
  const Json* part = given.find(name);
  return part == nullptr ? nullptr : &part->as_object();
}

Result<protect::NetworkShare> read_share(const Json& value) {
  if (value.is_int()) return protect::NetworkShare{value.as_int(), std::nullopt};
  TM_TRY(const auto amount, model::Quantity::parse(value.as_string()));
  return protect::NetworkShare{0, amount.scaled_value_saturated(0)};
}

Result<void> read_network(const JsonObject& given, protect::NetworkQos& network) {
  fill<protect::NetworkQos>(network, given, kNetworkSlots);
  for (const ShareSlot& slot : kShareSlots) {
    const Json* value = given.find(slot.name);
    if (value == nullptr) continue;
    auto share = read_share(*value);
    if (!share) return fail(std::move(share).error().within(slot.name));
    network.*slot.at = *share;
  }
  return {};
}

Result<void> read_blkio(const JsonObject& given, protect::BlkioQos& blkio, RuleNotes& notes) {
  if (const Json* enable = given.find("enable")) blkio.enable = enable->as_bool();
  const Json* blocks = given.find("blocks");
  if (blocks == nullptr) return {};
  const auto& list = blocks->as_array();
  if (list.size() > protect::kBlocksMax) {
    return fail(ErrorKind::kInvalid, "blocks: at most ", protect::kBlocksMax, " are read, found ", list.size());
  }
  blkio.blocks.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_null()) continue;
    const JsonObject& each = list[i].as_object();
    protect::BlockRules block;
    if (const Json* name = each.find("name")) block.name = name->as_string();
    block.kind = static_cast<protect::BlockKind>(choice_of(each, "type", kBlockKinds, notes));
    if (const JsonObject* io = part_of(each, "ioCfg")) fill<protect::IoRules>(block.io, *io, kIoSlots);
    blkio.blocks.push_back(std::move(block));
  }
  return {};
}

Result<void> read_class(const JsonObject& qos, std::string_view name, protect::ClassQos& rules, RuleNotes& notes) {
  const JsonObject* given = part_of(qos, name);
  if (given == nullptr) return {};
  const auto place = [&](std::string_view part) { return cat(name, ".", part); };
  if (const JsonObject* cpu = part_of(*given, "cpuQOS")) fill<protect::CpuQos>(rules.cpu, *cpu, kCpuSlots);
  if (const JsonObject* memory = part_of(*given, "memoryQOS"))
    fill<protect::MemoryQos>(rules.memory, *memory, kMemorySlots);
  if (const JsonObject* part = part_of(*given, "resctrlQOS"))
    fill<protect::ResctrlQos>(rules.resctrl, *part, kResctrlSlots);
  if (const JsonObject* blkio = part_of(*given, "blkioQOS")) {
    if (auto read = read_blkio(*blkio, rules.blkio, notes); !read) {
      return fail(std::move(read).error().within(place("blkioQOS")));
    }
  }
  if (const JsonObject* network = part_of(*given, "networkQOS")) {
    if (auto read = read_network(*network, rules.network); !read) {
      return fail(std::move(read).error().within(place("networkQOS")));
    }
  }
  return {};
}

}  // namespace

std::size_t choice_of(const JsonObject& given, std::string_view name, std::span<const std::string_view> words,
                      RuleNotes& notes) {
  const Json* value = given.find(name);
  if (value == nullptr || value->as_string().empty()) return 0;
  const auto found = std::ranges::find(words, value->as_string());
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::vector<std::string> known(words.begin(), words.end());
  notes.push_back(cat(name, ": wanted one of ", base::join(known, ", "), ", found ",
                      base::in_quotes(value->as_string()), "; it counts as ", words.front()));
  return 0;
}

Result<protect::QosRules> read_qos_rules(const JsonObject& given, RuleNotes& notes) {
  protect::QosRules rules;
  rules.lsr = online_defaults();
  rules.ls = online_defaults();
  rules.be = offline_defaults();
  if (const JsonObject* policies = part_of(given, "policies")) {
    rules.cpu_policy = static_cast<protect::CpuQosPolicy>(choice_of(*policies, "cpuPolicy", kCpuPolicies, notes));
    rules.network_policy =
        static_cast<protect::NetworkQosPolicy>(choice_of(*policies, "netQOSPolicy", kNetworkPolicies, notes));
  }
  TM_TRY_VOID(read_class(given, "lsrClass", rules.lsr, notes));
  TM_TRY_VOID(read_class(given, "lsClass", rules.ls, notes));
  TM_TRY_VOID(read_class(given, "beClass", rules.be, notes));
  TM_TRY_VOID(read_class(given, "systemClass", rules.system, notes));
  TM_TRY_VOID(read_class(given, "cgroupRoot", rules.root, notes));
  for (protect::ClassQos* each : {&rules.lsr, &rules.ls, &rules.be}) reset_disabled(*each);
  return rules;
}

}  // namespace tidemark::policy::settings
