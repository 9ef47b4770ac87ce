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
#include "model/settings/pool.h"
#include "model/settings/work_class.h"
#include "policy/waterline/calendar/calendar.h"
#include "policy/waterline/profile/settings.h"

namespace tidemark::policy::waterline {

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

struct TidemarkConfig {
  std::vector<Calendar> calendars;
  model::Pool rest;                // of the nodes that no pool names
  std::vector<model::Pool> pools;  // in the order of the document
  RolloutSettings rollout;
  std::vector<model::WorkClass> classes;  // by ascending order
  ProfileSettings profiles;
};

// The settings without a `tidemark-config`: a replacement of Koordinator's manager, which enforces its own switches and
// applies every edit everywhere at once.
TidemarkConfig drop_in();

const model::Pool& pool_of(const TidemarkConfig& config, model::LabelsView labels);

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

// Evictions of a node of the pool in an hour, if it has no grant.
std::int64_t node_evictions_of(const model::Pool& pool);

}  // namespace tidemark::policy::waterline
