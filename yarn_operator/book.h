// Computes the ledger that the operator publishes for a node (model::YarnBook); the manager reads it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "model/annotations.h"
#include "model/resources.h"

namespace tidemark::yarn_operator {

// When the held amount has been unknown for so long, the ledger omits it. Until then YARN cannot hold more than the
// total that it was sent.
inline constexpr base::Duration kSoldHold = std::chrono::seconds(30);
// Renewal interval of a ledger while work waits: within the time that a manager trusts it, with room for a failover, or
// longer if half of the write budget for the API server requires it. A hash of the node name shortens it a little,
// which spreads the writes.
inline constexpr base::Duration kRenewAfter = std::chrono::minutes(10);
inline constexpr double kRenewalsOfBudget = 0.5;
inline constexpr double kRenewedSoonerMax = 0.2;  // of the interval
// A manager trusts a ledger for so long, or for degradeTimeMinutes if that is longer.
inline constexpr base::Duration kBelievedFor = std::chrono::minutes(15);
base::Duration renew_after(std::size_t nodes, double writes_per_second);
base::Duration renew_after(std::string_view node, std::size_t nodes, double writes_per_second);

struct BookInput {
  std::optional<model::YarnBook> before;  // the ledger on the node
  struct InForce {
    std::int64_t generation = 0;
    model::Resources total;
  };
  std::optional<InForce> in_force;          // nullopt: not known yet, keep the published value
  std::optional<model::Resources> held;     // by its containers, last known amount; nullopt: unknown
  bool long_unknown = false;                // for kSoldHold
  std::optional<model::Resources> waiting;  // in the whole cluster, as far as this node could hold it
  model::Resources origin;                  // most of `waiting` that this node could give
  std::string work_class{};                 // of all work of the cluster; "": none
};

// nullopt: nothing to publish yet. A ResourceManager does not report classes by node, so all containers have the class
// of their cluster.
std::optional<model::YarnBook> next_book(const BookInput& input);

}  // namespace tidemark::yarn_operator
