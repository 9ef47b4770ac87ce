// What the operator says of a node to whoever offers YARN its part (model::YarnBook). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/annotations.h"
#include "model/resources.h"

namespace tidemark::yarn_operator {

// Nobody has known for so long what YARN holds that what was known last is not said any more. Until then no more can
// have come to it than it was told.
inline constexpr base::Duration kSoldHold = std::chrono::seconds(30);
// Well within the time that a manager believes in work that waits.
inline constexpr base::Duration kRenewAfter = std::chrono::minutes(4);

struct BookInput {
  std::optional<model::YarnBook> before;  // as it stands on the node
  struct InForce {
    std::int64_t generation = 0;
    model::Resources total;
  };
  std::optional<InForce> in_force;          // nullopt: not known yet, what stands there stays
  std::optional<model::Resources> held;     // by its containers, when it was known last; nullopt: nobody knows
  bool long_unknown = false;                // that was kSoldHold ago
  std::optional<model::Resources> waiting;  // in the whole cluster
  model::Resources origin;                  // the most that this node could give of it
  std::string work_class{};                 // of all of the cluster's work; "": it has none
};

// nullopt: there is nothing to say yet. A ResourceManager tells nobody by node of what class containers are: all of
// them are of their cluster's.
std::optional<model::YarnBook> next_book(const BookInput& input);

}  // namespace tidemark::yarn_operator
