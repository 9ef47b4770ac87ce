// How the evictions that a pool may have in an hour are granted to its nodes.
//
//   held(node)  = the most that the node may still use: its last grant, and the grant before if the node may not know
//                 that it ended. A grant counts for an hour past its end: evictions just before the end lie in that
//                 hour.
//   Σ held ≤ the limit of the pool, whatever messages are lost, late or out of order; except after a cut of the limit
//
//   part        = (limit − the operator's part) / size class of the pool
//   size class  = the number of its nodes, rounded up to 1, 2, 3, 4, 5, 7, 9, 12 … (a quarter more each), so that one
//                 more node does not cut every grant
//   operator's  = limit / kOperatorPart if YARN's operator evicts work in the pool for more timely work, else 0:
//                 one operator acts for all nodes of a cluster's ResourceManager
//   granted     = min(part, limit − Σ held of the others),   at least 1, else nothing
//
// A grant ends after kGrantValid and is extended after half of that: two writes a day and node. Cuts are immediate, and
// their room is granted again once the old grant cannot be in force any more. The grant of a node is stored in the
// node's own object, and the operator's in `tidemark-budgets`, so no other memory is needed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/node_grant.h"
#include "model/reason.h"

namespace tidemark::policy::evict {

inline constexpr base::Duration kGrantValid = std::chrono::hours(24);
inline constexpr std::int64_t kGrantSchema = 1;

inline constexpr std::int64_t kOperatorPart = 4;
// The holder name of YARN's operator: no node can have this name.
inline constexpr std::string_view kOperatorHolder = "/yarn-operator";
using OperatorGrants = std::map<std::string, model::NodeGrant, std::less<>>;  // by pool

// The grants of one pool, by node and for kOperatorHolder.
using GrantBook = std::map<std::string, model::NodeGrant, std::less<>>;
std::int64_t held(const GrantBook& book, base::WallTime at);

struct GrantChange {
  std::string node;
  model::Reason reason;  // kBudgetGranted, GrantRenewed, GrantCut, NoRoom
  bool operator==(const GrantChange&) const = default;
};
struct GrantStep {
  GrantBook book;
  std::vector<GrantChange> changes;
};
// `nodes`: those of the pool; `limit`: nullopt if the pool grants nothing. Total and deterministic; the order of nodes
// does not matter. Holders that get nothing are reported with kNoRoom each time.
GrantStep grant(const GrantBook& book, std::span<const std::string> nodes, std::optional<std::int64_t> limit,
                base::WallTime now, bool yarn_operator = false);

std::int64_t size_class(std::int64_t nodes);

// As published in the NodeSLO (policy/settings/nodeslo/told.h):
// {"schema":1,"evictions":{"perHour":3,"until":…,"before":{…}}}.
void write_grant(base::JsonWriter& json, const model::NodeGrant& grant);  // the member `evictions`
// kUnsupported: of a newer schema.
Result<model::NodeGrant> read_grant(const Json& told);
// The same under the member `key` of an object that has its own schema.
void write_grant(base::JsonWriter& json, std::string_view key, const model::NodeGrant& grant);
Result<model::NodeGrant> read_grant(const Json& of, std::string_view key);

}  // namespace tidemark::policy::evict
