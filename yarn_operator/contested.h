// Totals that do not stay as they are told.
//
// Once that may be a NodeManager that began anew, or somebody's hand. Again and again it is a second operator, which
// sets them as often as ours does, or a ResourceManager that answers and takes nothing. Ours goes on: what it tells is
// what the ledger allows, and what somebody else sets may be more than there is. A person has to end one of both.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tidemark::yarn_operator {

// As often as a manager finds its own numbers replaced before it stands back (policy/contest).
inline constexpr std::size_t kContestedAfter = 3;
inline constexpr base::Duration kContestedWithin = std::chrono::minutes(5);

// Of one cluster.
class ContestedTotals {
 public:
  void told_again(const std::vector<std::string>& nodes, base::MonotonicTime now);
  // Nodes that were told again so often within that time; each until it was told no more for as long.
  std::vector<std::string> nodes(base::MonotonicTime now);

 private:
  struct Told {
    std::vector<base::MonotonicTime> times;  // the last kContestedAfter, the oldest first
    bool contested = false;
  };
  std::map<std::string, Told> told_;
};

}  // namespace tidemark::yarn_operator
