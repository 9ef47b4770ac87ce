// What a node receives beside its strategies, in its NodeSLO under extensions.tidemark:
//
//    {"schema":1, "evictions":{…},                  (policy/evict/budget/grants.h)
//     "reclaim":{"generation":N, "classes":[{"class":…, "amount":{…}, "keep":{…}, "reason":…}, …]},
//                                             without classes: over; the number stays, so that none comes twice
//     "settings":{…},                                     the node's own, last good version (layer.h)
//     "agent":{…},                                        settings of its agent (agent_word.h)
//     "lines":[…]}                                        when raised thresholds of its agent expire (line_caps.h)
//
// The NodeSLO is the memory: unknown parts stay as they are in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/annotations.h"
#include "policy/evict/budget/grants.h"
#include "policy/settings/nodeslo/agent_word.h"
#include "policy/settings/nodeslo/line_caps.h"

namespace tidemark::policy::settings {

struct NodeReclaim {
  std::int64_t generation = 0;  // grows with each change, also with a change to none
  std::vector<model::Reclaim> classes;
  bool operator==(const NodeReclaim&) const = default;
};
struct NodeTold {
  std::optional<model::NodeGrant> grant;
  std::optional<NodeReclaim> reclaim;
  std::string settings{};  // JSON; "" if there are none
  std::optional<model::AgentWord> agent{};
  std::vector<model::LineCap> lines{};
  bool known = true;  // false: the present text is of a newer version, and stays
  bool operator==(const NodeTold&) const = default;
};

// The present text; unreadable parts are omitted.
NodeTold read_told(const Json& ours);
// The member `reclaim` for its receiver, all or nothing; a missing one means nothing. kUnsupported: another schema.
Result<NodeReclaim> read_node_reclaim(const Json& ours);
std::string told_json(const NodeTold& told);  // "" if empty

// The desired content. A part that is nullopt is unknown.
struct KnownTold {
  std::optional<std::optional<model::NodeGrant>> grant;
  std::optional<std::vector<model::Reclaim>> reclaim;
  std::optional<std::string> settings{};  // as in NodeTold
  std::optional<std::optional<model::AgentWord>> agent{};
  std::optional<std::vector<model::LineCap>> lines{};
};
// nullopt: nothing is known, all stays.
std::optional<std::string> next_told(const NodeTold& carried, const KnownTold& known, base::WallTime now);

}  // namespace tidemark::policy::settings
