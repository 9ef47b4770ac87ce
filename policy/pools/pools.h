// Tidemark's own settings, as in the ConfigMap `tidemark-config`, and the pool of a node.
//
// A node is in exactly one pool: the first in the order of the document whose selector matches its labels, otherwise
// the pool `default`. If selectors overlap on a real node, the first still wins, and overlaps() reports it, because it
// is probably a mistake.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/names.h"
#include "model/selector.h"
#include "policy/arbitrate/settings.h"
#include "policy/budget/settings.h"
#include "policy/calendar/calendar.h"
#include "policy/evict/settings.h"
#include "policy/ledger/ledger.h"
#include "policy/motion/motion.h"
#include "policy/nodeslo/layer.h"
#include "policy/pools/modes.h"
#include "policy/profile.h"
#include "policy/profile/settings.h"

namespace tidemark::policy {

inline constexpr std::string_view kDefaultPool = "default";

struct Pool {
  std::string name{kDefaultPool};
  model::LabelSelector selector = model::LabelSelector::everything();
  bool takes_all = true;  // the selector asks for nothing
  std::string business;   // the owner of these nodes; empty: unset
  PoolModes modes;
  Profile profile = Profile::kKoordinator;
  bool canary = false;                  // gets new settings first
  std::optional<std::size_t> calendar;  // of the water line, an index in TidemarkConfig::calendars
  LedgerConfig ledger;
  MotionConfig motion;               // with profile tidemark only
  base::Duration warm_up = kWarmUp;  // the same: for how long a pod that started counts with more than it uses
  BudgetSettings budget;
  ArbitrateSettings arbitrate;  // the reaction if two schedulers sold too much of a node
  bool ends_yarn_work = false;  // preempt YARN's containers beyond its offer when a drain is over
  EvictSettings evict;          // how the agents of its nodes go about evictions
  SloLayer nodeslo;             // above slo-controller-config for its nodes
};

// More evictions than this within `window` in one pool stop a rollout: at least `at_least`, and more than
// `factor_percent` % of the same pool's count in a window before the rollout began.
struct EvictionLimit {
  bool watched = true;  // false: evictions never stop it
  base::Duration window = std::chrono::minutes(5);
  std::int64_t at_least = 10;
  std::int64_t factor_percent = 300;
  bool operator==(const EvictionLimit&) const = default;
};

struct RolloutSettings {
  bool staged = true;  // false: every edit is in force on every node at once
  std::int64_t nodes_per_minute = 600;
  base::Duration canary_soak = std::chrono::minutes(10);  // how long the canary pools run new settings before the rest
  EvictionLimit evictions;
  bool operator==(const RolloutSettings&) const = default;
};

// A timeliness class of offline work, the value of `tidemark.io/class`.
struct WorkClass {
  std::string name;
  std::int64_t order = 0;               // the lowest is reclaimed first
  base::Duration restart_cost{0};       // work that a restart throws away
  bool checkpointing = false;           // then a restart costs no more than the time since the last checkpoint
  std::int64_t cpu_weight = 100;        // against other classes; as cgroup v2's cpu.weight
  std::int64_t memory_low_percent = 0;  // of a task's memory request that is reclaimed after other offline work's
  bool operator==(const WorkClass&) const = default;
};

struct TidemarkConfig {
  std::vector<Calendar> calendars;
  Pool rest;                // of the nodes that no pool names
  std::vector<Pool> pools;  // in the order of the document
  RolloutSettings rollout;
  std::vector<WorkClass> classes;  // by ascending order
  ProfileSettings profiles;
};

// The settings without a `tidemark-config`: a replacement of Koordinator's manager, which enforces its own switches and
// applies every edit everywhere at once.
TidemarkConfig drop_in();

const Pool& pool_of(const TidemarkConfig& config, model::LabelsView labels);

struct NodeLabels {
  model::NodeName node;
  std::vector<model::Label> labels;
};
struct PoolOverlap {
  std::string pool;         // the one they are in
  std::string also;         // a later one whose selector matches them too
  std::int64_t nodes = 0;   // how many
  model::NodeName example;  // the first of them by name
};
// In the order of the document. Selectors that match every node are not an overlap: a last pool takes the rest that
// way.
std::vector<PoolOverlap> overlaps(const TidemarkConfig& config, std::span<const NodeLabels> nodes);

// For how long a node of it sells nothing new after an eviction.
base::Duration back_off_of(const Pool& pool);
// Evictions of a node of the pool in an hour, if it has no grant.
std::int64_t node_evictions_of(const Pool& pool);

std::string_view to_string(Profile);

}  // namespace tidemark::policy
