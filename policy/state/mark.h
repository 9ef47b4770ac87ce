// The state mark of a node: the label tidemark.io/state and the annotation tidemark.io/state-detail. It contains
// everything that agents need without a request: the orders for this node, its pool and the whole cluster.
//
//    {"schema":1, "generation":1795261234, "state":"draining",
//     "cluster":{"generation":1795261234, "orders":[{"wish":"off", "by":"ann@ops-1", "why":"kernel update",
//                "since":"2026-11-21T10:00:34Z", "drainUntil":"2026-11-21T10:15:34Z"}]},
//     "pool":{"name":"night", …}, "node":{…}}
//
// `state` repeats the label. Times are RFC 3339 in UTC. An unknown member is an error: a reader that does not
// understand a mark must not sell by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/reason.h"
#include "policy/state/order.h"

namespace tidemark::policy::state {

inline constexpr std::int64_t kStateSchema = 1;
inline constexpr std::size_t kStateDetailBytesMax = 32 * 1024;

struct PoolMark {
  std::string pool;
  StateMark mark;
  bool operator==(const PoolMark&) const = default;
};

struct NodeMarks {
  std::int64_t generation = 0;  // grows with every write of the annotation
  std::optional<StateMark> cluster;
  std::optional<PoolMark> pool;
  std::optional<StateMark> node;

  bool any() const { return cluster || pool || node; }
  bool operator==(const NodeMarks&) const = default;
};

// The parsed mark of a node. Total:
//
//    label      detail                        reading
//    –          –                             no order
//    a state    –                             as if ordered for this node, by its label
//    –          good                          the detail
//    the same   good                          the detail
//    another    good                          the detail, and the label as an order for this node if it is stricter
//    a state    of a newer schema             the label
//    anything else                            draining without an end: sells nothing, kills nothing, until it is set
//                                             anew
struct NodeReading {
  NodeMarks marks;
  std::optional<model::Reason> trouble;  // kStateByLabel, kStateNewer, kStateDisagrees, kStateUnreadable
  std::string problem;                   // of kStateUnreadable: the problem
};
NodeReading read_marks(std::optional<std::string_view> label, std::optional<std::string_view> detail);

// Rejects other schemas than 1 (kUnsupported if newer) and invalid text; names the place.
struct MarkText {
  NodeMarks marks;
  model::NodeState state = model::NodeState::kOff;  // the label that was written with it
};
Result<MarkText> parse_marks(std::string_view detail);
std::string format_marks(const NodeMarks& marks, model::NodeState label);

// One mark as JSON, for the stores that hold marks (here and policy/state/desired.h).
void write_mark(base::JsonWriter& json, const StateMark& mark);                      // the members, without the braces
Result<StateMark> read_mark(const Json& value, std::string_view place, bool named);  // named: it also has a `name`

}  // namespace tidemark::policy::state
