// What is to become of a node's NodeSLO, from the settings, the node and the object as it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "manager/settings/revision.h"
#include "manager/specs/node_objects.h"
#include "policy/settings/nodeslo/agent_word.h"
#include "policy/settings/nodeslo/layer.h"
#include "policy/settings/nodeslo/nodeslo.h"
#include "policy/settings/nodeslo/origin.h"
#include "policy/settings/nodeslo/told.h"
#include "policy/state/overrides.h"
#include "policy/waterline/calendar/falls.h"

namespace tidemark::manager {

// A NodeSLO as the manager keeps it: what it takes to see that it is right, not what it says.
struct NodeSloProjection {
  struct Meta {
    kube::Text ns;  // always empty
    kube::Text name;
    kube::Text uid;
    std::string resource_version;
  };
  Meta meta;
  policy::settings::SloFingerprint fingerprint;
  policy::settings::NodeTold told;  // beside the settings, as it stands there
  std::size_t bytes() const;
};
Result<NodeSloProjection> decode_node_slo_projection(std::string_view bytes, kube::Interner& interner);

std::uint64_t content_of(const NodeSloProjection& slo);  // NodeObjectPlan::content

// What the node says of its own settings (annotation tidemark.io/settings), and what is gone by.
struct OwnSettings {
  std::optional<policy::settings::NodeSettings> in_force;
  std::optional<model::Reason> note;  // kSloNodeSettings, …Kept, …Refused; nullopt: it has none
  std::string problem;                // what is wrong with the annotation
};
OwnSettings own_settings(const kube::Node& node, const NodeSloProjection* object);

// Modes and classes for the agents of a pool; nullopt without a tidemark-config.
std::optional<model::AgentWord> agent_word(const Revision& settings, const model::Pool& pool);

struct NodeSloDecision {
  policy::settings::SloSpec spec;  // nothing in it where the node is gone
  NodeObjectPlan plan;
  std::optional<model::Reason> own_note;  // as OwnSettings
  std::string own_problem;
};
// Cached values for the nodes of a pool, for callers with many nodes.
struct LineMemos {
  policy::waterline::LineMemo lines;
  policy::waterline::FallMemo falls;
};

// Node and object may be null. `known`: content besides the settings. The node's own settings, the agent section and
// the end of raised lines are added to it.
NodeSloDecision decide_node_slo(const kube::Node* node, const NodeSloProjection* object, const Revision& settings,
                                base::WallTime now, const policy::state::Overrides* overrides = nullptr,
                                const policy::settings::KnownTold& known = {}, LineMemos* memos = nullptr);

// The current water line of the node's pool by calendar or override, relative to the base line of the node's strategy;
// nullopt if the pool has neither. It refers to the settings. `overrides` and `lines` may be null; they serve callers
// with many nodes.
std::optional<policy::settings::SloCalendar> slo_calendar(const kube::Node& node, const Revision& settings,
                                                          base::WallTime now, const policy::state::Overrides* overrides,
                                                          policy::waterline::LineMemo* lines = nullptr);

}  // namespace tidemark::manager
