// What a node is told beside what its strategies say, in its NodeSLO under extensions.tidemark:
//
//   {"schema":1, "evictions":{…},                                                        (policy/budget/grants.h)
//    "reclaim":{"generation":N, "classes":[{"class":…, "giveBack":{…}, "keep":{…}, "reason":…}, …]},
//                                            without classes: over; the number stays, so that none comes twice
//    "settings":{…},                                     of the node itself, as they were good last (layer.h)
//    "agent":{…},                                        how its agent stands (agent_word.h)
//    "lines":[…]}                                        until when raised lines of its agent hold (line_caps.h)
//
// The NodeSLO is the memory: what is not known now stays as it says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/annotations.h"
#include "policy/budget/grants.h"
#include "policy/nodeslo/agent_word.h"
#include "policy/nodeslo/line_caps.h"

namespace tidemark::policy {

struct NodeReclaim {
  std::int64_t generation = 0;  // grows with each other text, of that there is nothing to give back as well
  std::vector<model::Reclaim> classes;
  bool operator==(const NodeReclaim&) const = default;
};
struct NodeTold {
  std::optional<NodeGrant> grant;
  std::optional<NodeReclaim> reclaim;
  std::string settings{};  // JSON; "" where there are none
  std::optional<AgentWord> agent{};
  std::vector<LineCap> lines{};
  bool known = true;  // false: what stands there is of a newer version, and stays
  bool operator==(const NodeTold&) const = default;
};

// As it stands there; a part that cannot be read is left out.
NodeTold read_told(const Json& ours);
// The member `reclaim` for whoever obeys it, whole or not at all; one that is not there says nothing. kUnsupported: of
// another schema.
Result<NodeReclaim> read_node_reclaim(const Json& ours);
std::string told_json(const NodeTold& told);  // "" where there is nothing to tell

// What is to be told. A part that is nullopt is not known.
struct KnownTold {
  std::optional<std::optional<NodeGrant>> grant;
  std::optional<std::vector<model::Reclaim>> reclaim;
  std::optional<std::string> settings{};  // as in NodeTold
  std::optional<std::optional<AgentWord>> agent{};
  std::optional<std::vector<LineCap>> lines{};
};
// nullopt: nothing is known, all stays.
std::optional<std::string> next_told(const NodeTold& carried, const KnownTold& known, base::WallTime now);

}  // namespace tidemark::policy
