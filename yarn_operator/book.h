// What the operator says of a node to whoever offers YARN its part (model::YarnBook). Pure.
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

// Nobody has known for so long what YARN holds that what was known last is not said any more. Until then no more can
// have come to it than it was told.
inline constexpr base::Duration kSoldHold = std::chrono::seconds(30);
// While work waits its book is renewed: so often, well within the time that a manager believes in it, or as often as
// half of the writes to the API server allow, where that is less. Each node a little sooner by its name, and so they
// come apart.
inline constexpr base::Duration kRenewAfter = std::chrono::minutes(4);
inline constexpr double kRenewalsOfBudget = 0.5;
inline constexpr double kRenewedSoonerMax = 0.2;  // of that time
// A manager believes a book so long (degradeTimeMinutes, as it is by itself).
inline constexpr base::Duration kBelievedFor = std::chrono::minutes(15);
base::Duration renew_after(std::size_t nodes, double writes_per_second);
base::Duration renew_after(std::string_view node, std::size_t nodes, double writes_per_second);

struct BookInput {
  std::optional<model::YarnBook> before;  // as it stands on the node
  struct InForce {
    std::int64_t generation = 0;
    model::Resources total;
  };
  std::optional<InForce> in_force;          // nullopt: not known yet, what stands there stays
  std::optional<model::Resources> held;     // by its containers, when it was known last; nullopt: nobody knows
  bool long_unknown = false;                // that was kSoldHold ago
  std::optional<model::Resources> waiting;  // in the whole cluster, of what this node could hold
  model::Resources origin;                  // the most that this node could give of it
  std::string work_class{};                 // of all of the cluster's work; "": it has none
};

// nullopt: there is nothing to say yet. A ResourceManager tells nobody by node of what class containers are: all of
// them are of their cluster's.
std::optional<model::YarnBook> next_book(const BookInput& input);

}  // namespace tidemark::yarn_operator
