#include "policy/node_rules/class_qos.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "model/quantity.h"

namespace tidemark::policy {
namespace {

using base::cat;
using base::JsonObject;

constexpr auto kCpuSlots = std::to_array<Slot<CpuQos>>({
    {"enable", &CpuQos::enable},
    {"groupIdentity", &CpuQos::group_identity},
    {"schedIdle", &CpuQos::sched_idle},
    {"coreExpeller", &CpuQos::core_expeller},
});

constexpr auto kMemorySlots = std::to_array<Slot<MemoryQos>>({
    {"enable", &MemoryQos::enable},
    {"minLimitPercent", &MemoryQos::min_limit_percent},
    {"lowLimitPercent", &MemoryQos::low_limit_percent},
    {"throttlingPercent", &MemoryQos::throttling_percent},
    {"wmarkRatio", &MemoryQos::wmark_ratio},
    {"wmarkScalePermill", &MemoryQos::wmark_scale_permill},
    {"wmarkMinAdj", &MemoryQos::wmark_min_adj},
    {"priorityEnable", &MemoryQos::priority_enable},
    {"priority", &MemoryQos::priority},
    {"oomKillGroup", &MemoryQos::oom_kill_group},
    {"pageCacheEnable", &MemoryQos::page_cache_enable},
    {"pageCacheLimitPercent", &MemoryQos::page_cache_limit_percent},
    {"pageCacheLimitSize", &MemoryQos::page_cache_limit_bytes},
    {"pageCacheReclaimSync", &MemoryQos::page_cache_reclaim_sync},
});

constexpr auto kIoSlots = std::to_array<Slot<IoRules>>({
    {"readIOPS", &IoRules::read_iops},
    {"writeIOPS", &IoRules::write_iops},
    {"readBPS", &IoRules::read_bytes_per_s},
    {"writeBPS", &IoRules::write_bytes_per_s},
    {"ioWeightPercent", &IoRules::weight_percent},
    {"readLatency", &IoRules::read_latency_us},
    {"writeLatency", &IoRules::write_latency_us},
    {"readLatencyPercent", &IoRules::read_latency_percent},
    {"writeLatencyPercent", &IoRules::write_latency_percent},
    {"enableUserModel", &IoRules::user_model},
    {"modelReadBPS", &IoRules::model_read_bytes_per_s},
    {"modelWriteBPS", &IoRules::model_write_bytes_per_s},
    {"modelReadSeqIOPS", &IoRules::model_read_sequential_iops},
    {"modelWriteSeqIOPS", &IoRules::model_write_sequential_iops},
    {"modelReadRandIOPS", &IoRules::model_read_random_iops},
    {"modelWriteRandIOPS", &IoRules::model_write_random_iops},
});

constexpr auto kResctrlSlots = std::to_array<Slot<ResctrlQos>>({
    {"enable", &ResctrlQos::enable},
    {"catRangeStartPercent", &ResctrlQos::cat_start_percent},
    {"catRangeEndPercent", &ResctrlQos::cat_end_percent},
    {"mbaPercent", &ResctrlQos::mba_percent},
});

constexpr auto kNetworkSlots = std::to_array<Slot<NetworkQos>>({{"enable", &NetworkQos::enable}});

struct ShareSlot {
  std::string_view name;
  NetworkShare NetworkQos::* at;
};
constexpr std::array<ShareSlot, 4> kShareSlots{{
    {"ingressRequest", &NetworkQos::ingress_request},
    {"ingressLimit", &NetworkQos::ingress_limit},
    {"egressRequest", &NetworkQos::egress_request},
    {"egressLimit", &NetworkQos::egress_limit},
}};

constexpr std::array<std::string_view, 3> kBlockKinds{"device", "volumegroup", "podvolume"};
constexpr std::array<std::string_view, 2> kCpuPolicies{"groupIdentity", "coreSched"};
constexpr std::array<std::string_view, 2> kNetworkPolicies{"tc", "terway-qos"};

// ---- the agent's defaults, contract 4.4 ----

ClassQos class_defaults(std::int64_t group_identity, bool core_expeller, std::int64_t cat_end_percent,
                        std::int64_t wmark_min_adj) {
  ClassQos out;
  out.cpu.group_identity = group_identity;
  out.cpu.core_expeller = core_expeller;
  out.resctrl.cat_end_percent = cat_end_percent;
  out.memory.wmark_ratio = 95;
  out.memory.wmark_scale_permill = 20;
  out.memory.wmark_min_adj = wmark_min_adj;
  return out;
}
ClassQos online_defaults() {
  return class_defaults(2, true, 100, -25);
}
ClassQos offline_defaults() {
  return class_defaults(-1, false, 30, 50);
}

void reset_disabled(ClassQos& rules) {
  if (!rules.cpu.enable) rules.cpu = {};
  if (!rules.memory.enable) rules.memory = {};
  if (!rules.resctrl.enable) rules.resctrl = {};
}

// ---- reading ----

const JsonObject* part_of(const JsonObject& given, std::string_view name) {
  const Json* part = given.find(name);
  return part == nullptr ? nullptr : &part->as_object();
}

Result<NetworkShare> read_share(const Json& value) {
  if (value.is_int()) return NetworkShare{value.as_int(), std::nullopt};
  TM_TRY(const auto amount, model::Quantity::parse(value.as_string()));
  return NetworkShare{0, amount.scaled_value_saturated(0)};
}

Result<void> read_network(const JsonObject& given, NetworkQos& network) {
  fill<NetworkQos>(network, given, kNetworkSlots);
  for (const ShareSlot& slot : kShareSlots) {
    const Json* value = given.find(slot.name);
    if (value == nullptr) continue;
    auto share = read_share(*value);
    if (!share) return fail(std::move(share).error().within(slot.name));
    network.*slot.at = *share;
  }
  return {};
}

Result<void> read_blkio(const JsonObject& given, BlkioQos& blkio, RuleNotes& notes) {
  if (const Json* enable = given.find("enable")) blkio.enable = enable->as_bool();
  const Json* blocks = given.find("blocks");
  if (blocks == nullptr) return {};
  const auto& list = blocks->as_array();
  if (list.size() > kBlocksMax) {
    return fail(ErrorKind::kInvalid, "blocks: at most ", kBlocksMax, " are read, found ", list.size());
  }
  blkio.blocks.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_null()) continue;
    const JsonObject& each = list[i].as_object();
    BlockRules block;
    if (const Json* name = each.find("name")) block.name = name->as_string();
    block.kind = static_cast<BlockKind>(choice_of(each, "type", kBlockKinds, notes));
    if (const JsonObject* io = part_of(each, "ioCfg")) fill<IoRules>(block.io, *io, kIoSlots);
    blkio.blocks.push_back(std::move(block));
  }
  return {};
}

Result<void> read_class(const JsonObject& qos, std::string_view name, ClassQos& rules, RuleNotes& notes) {
  const JsonObject* given = part_of(qos, name);
  if (given == nullptr) return {};
  const auto place = [&](std::string_view part) { return cat(name, ".", part); };
  if (const JsonObject* cpu = part_of(*given, "cpuQOS")) fill<CpuQos>(rules.cpu, *cpu, kCpuSlots);
  if (const JsonObject* memory = part_of(*given, "memoryQOS")) fill<MemoryQos>(rules.memory, *memory, kMemorySlots);
  if (const JsonObject* part = part_of(*given, "resctrlQOS")) fill<ResctrlQos>(rules.resctrl, *part, kResctrlSlots);
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

Result<QosRules> read_qos_rules(const JsonObject& given, RuleNotes& notes) {
  QosRules rules;
  rules.lsr = online_defaults();
  rules.ls = online_defaults();
  rules.be = offline_defaults();
  if (const JsonObject* policies = part_of(given, "policies")) {
    rules.cpu_policy = static_cast<CpuQosPolicy>(choice_of(*policies, "cpuPolicy", kCpuPolicies, notes));
    rules.network_policy = static_cast<NetworkQosPolicy>(choice_of(*policies, "netQOSPolicy", kNetworkPolicies, notes));
  }
  TM_TRY_VOID(read_class(given, "lsrClass", rules.lsr, notes));
  TM_TRY_VOID(read_class(given, "lsClass", rules.ls, notes));
  TM_TRY_VOID(read_class(given, "beClass", rules.be, notes));
  TM_TRY_VOID(read_class(given, "systemClass", rules.system, notes));
  TM_TRY_VOID(read_class(given, "cgroupRoot", rules.root, notes));
  for (ClassQos* each : {&rules.lsr, &rules.ls, &rules.be}) reset_disabled(*each);
  return rules;
}

}  // namespace tidemark::policy
