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
#include "policy/calendar/falls.h"
#include "policy/nodeslo/agent_word.h"
#include "policy/nodeslo/layer.h"
#include "policy/nodeslo/nodeslo.h"
#include "policy/nodeslo/origin.h"
#include "policy/nodeslo/told.h"
#include "policy/state/overrides.h"

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
  policy::SloFingerprint fingerprint;
  policy::NodeTold told;  // beside the settings, as it stands there
  std::size_t bytes() const;
};
Result<NodeSloProjection> decode_node_slo_projection(std::string_view bytes, kube::Interner& interner);

std::uint64_t content_of(const NodeSloProjection& slo);  // NodeObjectPlan::content

// What the node says of its own settings (annotation tidemark.io/settings), and what is gone by.
struct OwnSettings {
  std::optional<policy::NodeSettings> in_force;
  std::optional<model::Reason> note;  // kSloNodeSettings, …Kept, …Refused; nullopt: it has none
  std::string problem;                // what is wrong with the annotation
};
OwnSettings own_settings(const kube::Node& node, const NodeSloProjection* object);

// What the agents of a pool's nodes are told of how they stand; nullopt where there is no tidemark-config.
std::optional<policy::AgentWord> agent_word(const Revision& settings, const policy::Pool& pool);

struct NodeSloDecision {
  policy::SloSpec spec;  // nothing in it where the node is gone
  NodeObjectPlan plan;
  std::optional<model::Reason> own_note;  // as OwnSettings
  std::string own_problem;
};
// What is worked out once for the nodes of a pool, for whoever asks for many of them.
struct LineMemos {
  policy::LineMemo lines;
  policy::FallMemo falls;
};

// Node and object may be null. `known`: what the node is told beside the settings; its own settings, the word to its
// agent and until when raised lines hold are put beside that.
NodeSloDecision decide_node_slo(const kube::Node* node, const NodeSloProjection* object, const Revision& settings,
                                base::WallTime now, const policy::Overrides* overrides = nullptr,
                                const policy::KnownTold& known = {}, LineMemos* memos = nullptr);

// Where the calendar of the node's pool, or an override, has the water line now, over the base line of the node's
// strategy; nullopt where the pool has neither. It refers to the settings. `overrides` and `lines`, of whoever asks for
// many nodes, may be null.
std::optional<policy::SloCalendar> slo_calendar(const kube::Node& node, const Revision& settings, base::WallTime now,
                                                const policy::Overrides* overrides, policy::LineMemo* lines = nullptr);

}  // namespace tidemark::manager
