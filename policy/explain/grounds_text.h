// Renders the context of an offer beside its formulas: the revision of the settings in force on the node and why, the
// limits from evictions, and the young pods that count with their request. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/resources.h"
#include "policy/evict/budget/budget.h"
#include "policy/sell/ledger/ledger.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::policy::explain {

struct SettingsGround {
  enum class Place : std::uint8_t {
    kUnknown,     // the revision in force is not stored
    kEverywhere,  // no other revision is in force anywhere
    kReached,     // it is being rolled out, and has reached this node
    kKept,        // a newer one is being rolled out, and has not reached this node
  };
  std::string hash;
  std::string pool;
  bool canary = false;  // the pool gets new settings first
  Place place = Place::kUnknown;
  std::string name;                     // "8 (7f3a…)"; "" if it is not stored
  std::optional<base::WallTime> taken;  // when it was
  std::string target;                   // the one that is being rolled out
  settings::Phase phase = settings::Phase::kSettled;
  std::optional<settings::Hold> hold;
};
// Of the node, as the stored state has it. The state has a layer, and the book its revision.
SettingsGround settings_ground(const settings::Stored& stored, const settings::RolloutState& state,
                               std::string_view hash, bool canary);

struct EvictionGround {
  std::optional<evict::Breaker> breaker;                  // of the pool; nullopt: not stored, or not recorded
  sell::PoolGuard guard;                                  // the limits from the pool's evictions
  bool known = true;                                      // false: a newer version counts them, and offers are only cut
  base::Duration back_off{0};                             // 0: the pool's nodes sell on after an eviction
  std::optional<base::Duration> evicted_ago;              // the last one of offline work of the node, as far as known
  sell::LedgerSide side = sell::LedgerSide::kKubernetes;  // the side of that work
  std::string told_by;                                    // the source of that information
};

struct YoungPod {
  std::string name;      // "NAMESPACE/NAME"; "" if it was not stored
  std::string workload;  // the same; also "" if it has none
  model::Resources request;
  std::int64_t left_permille = 0;            // of the ramp
  std::optional<model::Resources> expected;  // by the history of its workload, at this hour
  std::string profile;                       // the object that holds it
  bool reported = false;                     // without a report it counts with its request, even if a use is expected
};
// One warming-up pod of a node's snapshot, which has no names.
YoungPod young_pod(const model::PodView& pod, const model::NodeSnapshot& node);

struct Grounds {
  base::WallTime now;
  SettingsGround settings;
  EvictionGround evictions;
  std::vector<YoungPod> young;
};

std::string render_text(const Grounds& grounds);
// Members `pool`, `settings`, `revision`, `evictions` and `youngPods`.
void add_json(Json& into, const Grounds& grounds);

}  // namespace tidemark::policy::explain
