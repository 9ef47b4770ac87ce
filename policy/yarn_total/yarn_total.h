// What a ResourceManager is told of a node.
//
//   batch    = what the manager offers YARN there                          where it does
//            = max(0, origin − what pods of Kubernetes and third parties beside YARN hold of batch)   otherwise
//   memory   = ⌊ batch memory / 2^20 ⌋ MiB
//   vcores   = ⌊ batch cpu / cpu of a vcore ⌋
//
//   nothing where the node takes no offline work: off or draining for YARN, not ready, cordoned. What runs there goes
//   on: nobody is killed by a total alone. Where nobody says what the node may sell it is not ours, and is left as it
//   is.
//
//   no more than what was left when containers were taken back, for a while (keep_mib): what an eviction freed would
//   else be handed out at once
//
// As the peer has it (kPeer), for the time of a swap: all of origin, ⌈ memory / 10^6 ⌉ told as MiB, vcores rounded up.
// That is a twentieth more memory than there is, what pods hold is handed out a second
// time, and a node that says nothing is told zero.
#pragma once

#include <cstdint>
#include <optional>

#include "model/reason.h"
#include "model/resources.h"
#include "policy/state/order.h"

namespace tidemark::policy {

enum class YarnRounding : std::uint8_t { kExact, kPeer };

struct YarnTotalConfig {
  YarnRounding rounding = YarnRounding::kExact;
  model::CpuMilli vcore{1000};  // above 0
  std::int64_t dead_band_permille = 10;
};

struct YarnNode {
  std::optional<model::Resources> origin;  // nullopt: nobody says
  std::optional<model::Resources> offer;   // of the manager; nullopt: it speaks to nobody of YARN here
  model::Resources pods;      // what pods on the node hold of batch; those on their way out do until they are gone
  model::Resources others{};  // what third parties beside YARN hold of it
  bool ready = true;
  bool cordoned = false;
  NodeState state = NodeState::kOn;        // for YARN
  std::optional<std::int64_t> keep_mib{};  // what was left after containers were taken back, while that holds
};

struct YarnTotal {
  model::Resources batch;  // what the total is made of
  std::int64_t memory_mib = 0;
  std::int32_t vcores = 0;
  model::Reason reason = model::Reason::kYarnNoOrigin;
  bool send = true;  // false: it is decided and not told
  bool operator==(const YarnTotal&) const = default;
};

// Total: never negative, never more than `batch` is worth (but for kPeer).
YarnTotal yarn_total(const YarnNode& node, const YarnTotalConfig& config);

// Most nodes of a cluster do not turn not ready together because they broke: what tells of them does not come through
// (the way from kubelets to the API server). Their NodeManagers say for themselves whether they work, and a total of
// nothing everywhere would end jobs; so what was told last stays. The bounds are those by which Kubernetes itself stops
// evicting from a zone.
inline constexpr std::int64_t kSilentNodesMin = 3, kSilentNodesPercent = 55;
bool most_nodes_are_silent(std::int64_t nodes, std::int64_t not_ready);

struct YarnAmount {
  std::int64_t memory_mib = 0;
  std::int32_t vcores = 0;
};
// Growth within the dead band, a part of what the ResourceManager has now, waits until it is more: pods come and go by
// little all day, and each update is a call, and a heartbeat of its NodeManager. A cut never waits, and an update that
// goes for one amount brings both. Of the manager's offers nothing waits here: it has a dead band of its own, and waits
// for each of them to come into force.
bool yarn_growth_waits(YarnAmount now, const YarnTotal& wanted, const YarnTotalConfig& config);

// By which a ResourceManager ends containers at once, as pre-empted: it ends the newest of the node until the rest
// fits.
//
//   memory   what is held, less what was given to those that are to end. It alone decides: a scheduler that goes by
//   memory only hands out more vcores than a node has, and would end all of them for that
//   vcores   more than are held, and offered, and other than now: the same total again is no update, and the one after
//            it, by which nobody is to end any more, must be another one too
struct YarnTake {
  std::int64_t memory_mib = 0;
  std::int32_t vcores = 0;
  bool operator==(const YarnTake&) const = default;
};
YarnTake yarn_take(YarnAmount used, YarnAmount total, std::int32_t offered_vcores, std::int64_t taken_mib);

// How much memory is to end so that no more than `keep` is held; 0: it fits. For vcores that are too many the same part
// of the memory goes, rounded up: what a total takes by vcores, a scheduler that goes by memory does not take at all.
std::int64_t yarn_too_much(YarnAmount used, YarnAmount keep);

// Of `containers` that hold `used_mib` in all: how many hold so much, and how much so many hold, as large as they are
// on average. A ResourceManager says no more of a node.
std::int64_t yarn_containers_with(std::int64_t memory_mib, std::int64_t used_mib, std::int64_t containers);
std::int64_t yarn_memory_of(std::int64_t part, std::int64_t used_mib, std::int64_t containers);

// What YARN's containers hold, as Kubernetes counts it.
model::Resources batch_of_yarn(std::int64_t memory_mib, std::int64_t vcores, const YarnTotalConfig& config);

}  // namespace tidemark::policy
