// How the evictions that a pool may have in an hour are granted to its nodes.
//
//   held(node)  = the most that it may still go by: what it was granted last, and what it had before that and may not
//                 have heard the end of. A grant counts for an hour past its end: evictions just before lie in that
//                 hour.
//   Σ held ≤ the pool's limit, whatever messages are lost, late or out of order; except after the limit itself was
//   lowered
//
//   part        = (limit − the operator's part) / size class of the pool
//   size class  = the number of its nodes, up to the next of 1, 2, 3, 4, 5, 7, 9, 12 … (a quarter more each): so that a
//                 node more does not cut every grant
//   operator's  = limit / kOperatorPart where YARN's operator ends work in the pool for more timely work, else nothing:
//                 the ResourceManager of a cluster is told for all of its nodes by one
//   granted     = min(part, limit − Σ held of the others),   at least 1, else nothing
//
// A grant ends after kGrantValid and is extended after half of that: two writes a day and node. Cuts are at once, and
// what they free is granted when it cannot be in force any more. What a node holds is written on the node's own object,
// and what the operator does in `tidemark-budgets`, so nothing else must remember it.
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
#include "model/reason.h"

namespace tidemark::policy {

inline constexpr base::Duration kGrantValid = std::chrono::hours(24);
inline constexpr base::Duration kGrantLasts = std::chrono::hours(1);  // past its end it counts for so long
inline constexpr std::int64_t kGrantSchema = 1;

struct EvictionGrant {
  std::int64_t per_hour = 0;  // evictions of offline tasks in any hour
  base::WallTime until;
  bool operator==(const EvictionGrant&) const = default;
};

struct NodeGrant {
  EvictionGrant now;
  std::optional<EvictionGrant> before;  // a larger one that may still be gone by

  std::int64_t held(base::WallTime at) const;
  bool operator==(const NodeGrant&) const = default;
};

inline constexpr std::int64_t kOperatorPart = 4;
// YARN's operator among the holders of a pool's grants: no node can have this name.
inline constexpr std::string_view kOperatorHolder = "/yarn-operator";
using OperatorGrants = std::map<std::string, NodeGrant, std::less<>>;  // by pool

// What was granted in one pool, by node; and kOperatorHolder.
using GrantBook = std::map<std::string, NodeGrant, std::less<>>;
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
// `nodes`: those of the pool; `limit`: nullopt where the pool grants nothing. Total and deterministic; the order of
// nodes does not matter. kNoRoom is told for holders that get nothing, each time.
GrantStep grant(const GrantBook& book, std::span<const std::string> nodes, std::optional<std::int64_t> limit,
                base::WallTime now, bool yarn_operator = false);

std::int64_t size_class(std::int64_t nodes);

// As a node is told, in its NodeSLO (policy/nodeslo/told.h): {"schema":1,"evictions":{"perHour":3,"until":…,
// "before":{…}}}.
void write_grant(base::JsonWriter& json, const NodeGrant& grant);  // the member `evictions`
// kUnsupported: of a newer schema.
Result<NodeGrant> read_grant(const Json& told);
// The same as the member `key` of what has a schema of its own.
void write_grant(base::JsonWriter& json, std::string_view key, const NodeGrant& grant);
Result<NodeGrant> read_grant(const Json& of, std::string_view key);

}  // namespace tidemark::policy
