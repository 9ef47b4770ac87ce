// What two sets of settings make of the same nodes, side by side. Pure. A node that is off offers nothing, whatever the
// settings say; one that is only observed counts as if it were written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "manager/capacity/decide.h"
#include "model/reason.h"
#include "policy/settings/nodeslo/nodeslo.h"

namespace tidemark::operate {

struct Offered {
  std::int64_t batch_cpu = 0;
  std::int64_t batch_memory = 0;
  std::int64_t mid_cpu = 0;
  std::int64_t mid_memory = 0;
  model::Reason reason = model::Reason::kPublished;
  std::string pool;
  bool off = false;  // or draining, for Kubernetes at least
  bool operator==(const Offered&) const = default;
};
Offered offered_of(const manager::NodeDecision& decision, const std::string& pool);

struct NodeChange {
  std::string node;
  Offered before;
  Offered after;                       // by the next step
  Offered end;                         // once growth is over
  std::vector<std::string> slo_parts;  // of the node's NodeSLO that change
  bool changes() const { return before != after || before != end || !slo_parts.empty(); }
};
std::vector<std::string> changed_parts(const policy::settings::SloSpec& before, const policy::settings::SloSpec& after);

struct PlanSum {
  std::int64_t nodes = 0;
  std::int64_t changed = 0;
  std::int64_t slo_changed = 0;
  std::int64_t off = 0;
  Offered before;
  Offered after;
  Offered end;
};
// By the pool that a node is in afterwards; under "" all of them.
std::map<std::string, PlanSum> sums_of(const std::vector<NodeChange>& nodes);

// Those that change, the largest change first.
std::vector<NodeChange> changes_by_size(std::vector<NodeChange> nodes);

}  // namespace tidemark::operate
