// The total of a node for a ResourceManager.
//
//    batch    = the manager's offer to YARN there                           if it has one
//             = max(0, origin − batch held by Kubernetes pods and third parties other than YARN)   otherwise
//    memory   = ⌊ batch memory / 2^20 ⌋ MiB
//    vcores   = ⌊ batch cpu / cpu of a vcore ⌋
//    memory   = min(memory, vcores × memory per vcore)      if that is set, for a scheduler that counts only memory
//
//    0 if the node takes no offline work: off or draining for YARN, not ready, cordoned. Running containers continue: a
//    smaller total does not kill them. A node without an origin is not ours, and stays unchanged.
//
//    at most the rest after containers were reclaimed, for a while (keep_mib): otherwise the released capacity would be
//    allocated again at once
//
// As Koordinator computes it (kPeer), for the time of a migration: all of origin, ⌈ memory / 10^6 ⌉ sent as MiB, vcores
// rounded up. That is a twentieth more memory than the node has, capacity held by pods is sold twice, and a node
// without an origin gets 0.
#pragma once

#include <cstdint>
#include <optional>

#include "model/node_state.h"
#include "model/reason.h"
#include "model/resources.h"

namespace tidemark::policy::sell {

enum class YarnRounding : std::uint8_t { kExact, kPeer };

struct YarnTotalConfig {
  YarnRounding rounding = YarnRounding::kExact;
  model::CpuMilli vcore{1000};            // above 0
  std::int64_t memory_per_vcore_mib = 0;  // 0: memory does not depend on CPU
  std::int64_t dead_band_permille = 10;
};

struct YarnNode {
  std::optional<model::Resources> origin;  // nullopt: unknown
  std::optional<model::Resources> offer;   // of the manager; nullopt: none for YARN here
  model::Resources pods;                   // batch held by pods on the node; terminating ones count until they are gone
  model::Resources others{};               // batch held by third parties other than YARN
  bool ready = true;
  bool cordoned = false;
  model::NodeState state = model::NodeState::kOn;  // for YARN
  std::optional<std::int64_t> keep_mib{};          // the rest after containers were reclaimed, while that applies
};

struct YarnTotal {
  model::Resources batch;  // the base of the total
  std::int64_t memory_mib = 0;
  std::int32_t vcores = 0;
  model::Reason reason = model::Reason::kYarnNoOrigin;
  bool send = true;  // false: decided, but not sent
  bool operator==(const YarnTotal&) const = default;
};

// Total: never negative, never more than the value of `batch` (except kPeer).
YarnTotal yarn_total(const YarnNode& node, const YarnTotalConfig& config);

// Most nodes of a cluster do not become not ready together because they broke: the reports are lost (between kubelets
// and the API server). Their NodeManagers report their own health, and a total of 0 everywhere would stop jobs; so the
// last total stays. The bounds are those by which Kubernetes itself stops evicting from a zone.
inline constexpr std::int64_t kSilentNodesMin = 3, kSilentNodesPercent = 55;
bool most_nodes_are_silent(std::int64_t nodes, std::int64_t not_ready);

struct YarnAmount {
  std::int64_t memory_mib = 0;
  std::int32_t vcores = 0;
};
// Growth within the dead band, a share of the ResourceManager's present total, waits until it is more: pods come and go
// in small numbers all day, and each update costs a call and a heartbeat of its NodeManager. A cut never waits, and an
// update for one amount sends both. The manager's offers do not wait here: they have a dead band of their own, and the
// manager waits for each of them to come into force.
bool yarn_growth_waits(YarnAmount now, const YarnTotal& wanted, const YarnTotalConfig& config);

// The total by which a ResourceManager preempts containers at once: it ends the newest of the node until the rest fits.
//
//    memory   the held amount, less that of the containers to preempt. It alone decides: a scheduler that uses only
//             memory allocates more vcores than a node has, and would preempt all of them for that
//    vcores   more than held, more than offered, and different from now: the same total again is no update, and the
//             next one, which preempts none, must differ as well
struct YarnTake {
  std::int64_t memory_mib = 0;
  std::int32_t vcores = 0;
  bool operator==(const YarnTake&) const = default;
};
YarnTake yarn_take(YarnAmount used, YarnAmount total, std::int32_t offered_vcores, std::int64_t taken_mib);

// How much memory to preempt so that at most `keep` is held; 0: it fits. If there are too many vcores, the same share
// of the memory is preempted, rounded up: a scheduler that uses only memory does not react to a total of vcores.
std::int64_t yarn_too_much(YarnAmount used, YarnAmount keep);

// Of `containers` that hold `used_mib` together: how many hold this amount, and how much this many hold, assuming the
// average size. A ResourceManager reports no more of a node.
std::int64_t yarn_containers_with(std::int64_t memory_mib, std::int64_t used_mib, std::int64_t containers);
std::int64_t yarn_memory_of(std::int64_t part, std::int64_t used_mib, std::int64_t containers);

// The amount held by YARN's containers, in Kubernetes' units.
model::Resources batch_of_yarn(std::int64_t memory_mib, std::int64_t vcores, const YarnTotalConfig& config);

}  // namespace tidemark::policy::sell
