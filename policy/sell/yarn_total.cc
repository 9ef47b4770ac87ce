#include "policy/sell/yarn_total.h"

#include <algorithm>
#include <limits>

namespace tidemark::policy::sell {
namespace {

using model::Reason;

using Wide = __int128;

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kVcorePermille = 1000;
constexpr std::int64_t kPeerMegabyte = 1'000'000;
constexpr std::int64_t kVcoresMax = std::numeric_limits<std::int32_t>::max();  // as wide as the record is

std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return value / by + (value % by == 0 ? 0 : 1);
}

model::Resources no_less_than_nothing(model::Resources amount) {
  return {{std::max<std::int64_t>(amount.cpu.value, 0)}, {std::max<std::int64_t>(amount.memory.value, 0)}};
}

std::optional<Reason> why_nothing(const YarnNode& node) {
  if (node.state >= model::NodeState::kDraining) return Reason::kYarnOff;
  if (!node.ready) return Reason::kYarnNotReady;
  if (node.cordoned) return Reason::kYarnCordoned;
  if (!node.offer && !node.origin) return Reason::kYarnNoOrigin;
  return std::nullopt;
}

}  // namespace

YarnTotal yarn_total(const YarnNode& node, const YarnTotalConfig& config) {
  YarnTotal total;
  total.send = node.state != model::NodeState::kObserve;
  if (const auto nothing = why_nothing(node)) {
    total.reason = *nothing;
    if (*nothing == Reason::kYarnNoOrigin) total.send = total.send && config.rounding == YarnRounding::kPeer;
    return total;
  }
  const std::int64_t vcore = std::max<std::int64_t>(config.vcore.value, 1);
  if (config.rounding == YarnRounding::kPeer) {
    total.reason = Reason::kYarnPeer;
    total.batch = no_less_than_nothing(node.origin.value_or(model::Resources()));
    total.memory_mib = divided_up(total.batch.memory.value, kPeerMegabyte);
    total.vcores = static_cast<std::int32_t>(std::min(divided_up(total.batch.cpu.value, vcore), kVcoresMax));
  } else {
    total.reason = node.offer ? Reason::kYarnOffered : Reason::kYarnShared;
    total.batch = no_less_than_nothing(node.offer ? *node.offer : *node.origin - node.pods - node.others);
    total.memory_mib = total.batch.memory.value / kMiB;
    total.vcores = static_cast<std::int32_t>(std::min(total.batch.cpu.value / vcore, kVcoresMax));
  }
  if (config.memory_per_vcore_mib > 0 && config.rounding == YarnRounding::kExact) {
    const Wide most = Wide{total.vcores} * config.memory_per_vcore_mib;
    if (most < total.memory_mib) {
      total.memory_mib = static_cast<std::int64_t>(most);
      total.batch.memory = {total.memory_mib * kMiB};
    }
  }
  if (node.keep_mib && *node.keep_mib < total.memory_mib) {
    total.memory_mib = std::max<std::int64_t>(*node.keep_mib, 0);
    total.batch.memory = {total.memory_mib * kMiB};
    total.reason = Reason::kYarnKept;
  }
  if (!total.send) total.reason = Reason::kYarnObserved;
  return total;
}

bool most_nodes_are_silent(std::int64_t nodes, std::int64_t not_ready) {
  return not_ready >= kSilentNodesMin && Wide{not_ready} * 100 >= Wide{nodes} * kSilentNodesPercent;
}

bool yarn_growth_waits(YarnAmount now, const YarnTotal& wanted, const YarnTotalConfig& config) {
  if (wanted.reason != Reason::kYarnShared) return false;
  const auto little = [&](std::int64_t before, std::int64_t after) {
    return after >= before && (Wide{after} - before) * kVcorePermille <= Wide{before} * config.dead_band_permille;
  };
  return little(now.memory_mib, wanted.memory_mib) && little(now.vcores, wanted.vcores);
}

YarnTake yarn_take(YarnAmount used, YarnAmount total, std::int32_t offered_vcores, std::int64_t taken_mib) {
  YarnTake take;
  const std::int64_t held = std::max<std::int64_t>(used.memory_mib, 0);
  take.memory_mib = held - std::clamp<std::int64_t>(taken_mib, 0, held);
  const std::int32_t most = std::max({used.vcores, offered_vcores, 0});
  take.vcores = static_cast<std::int32_t>(std::min(std::int64_t{most} + 1, kVcoresMax));
  if (take == YarnTake{total.memory_mib, total.vcores}) {
    take.vcores += take.vcores < kVcoresMax ? 1 : -1;
  }
  return take;
}

std::int64_t yarn_too_much(YarnAmount used, YarnAmount keep) {
  const std::int64_t held = std::max<std::int64_t>(used.memory_mib, 0);
  const std::int64_t memory = std::max<std::int64_t>(held - std::clamp<std::int64_t>(keep.memory_mib, 0, held), 0);
  const std::int64_t vcores = std::max<std::int32_t>(used.vcores, 0);
  const std::int64_t beyond = vcores - std::clamp<std::int64_t>(keep.vcores, 0, vcores);
  if (beyond == 0) return memory;
  const Wide for_cpu = (static_cast<Wide>(held) * beyond + vcores - 1) / vcores;
  return std::max(memory, static_cast<std::int64_t>(for_cpu));
}

std::int64_t yarn_containers_with(std::int64_t memory_mib, std::int64_t used_mib, std::int64_t containers) {
  if (memory_mib <= 0 || containers <= 0) return 0;
  if (memory_mib >= used_mib) return containers;
  return static_cast<std::int64_t>((Wide{memory_mib} * containers + used_mib - 1) / used_mib);
}

std::int64_t yarn_memory_of(std::int64_t part, std::int64_t used_mib, std::int64_t containers) {
  if (part <= 0 || used_mib <= 0) return 0;
  if (part >= containers) return used_mib;
  return static_cast<std::int64_t>(Wide{used_mib} * part / containers);
}

model::Resources batch_of_yarn(std::int64_t memory_mib, std::int64_t vcores, const YarnTotalConfig& config) {
  const auto times = [](std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(std::max<std::int64_t>(a, 0), b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                                             : product;
  };
  return {{times(vcores, std::max<std::int64_t>(config.vcore.value, 1))}, {times(memory_mib, kMiB)}};
}

}  // namespace tidemark::policy::sell
