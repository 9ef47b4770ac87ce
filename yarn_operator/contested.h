// Finds nodes whose totals do not stay as sent.
//
// A single change may come from a NodeManager that restarted or from a person. Repeated changes come from a second
// operator, or from a ResourceManager that answers but applies nothing. Our operator continues: its totals follow the
// ledger, and the other total may exceed the node. A person has to stop one of the two.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"

namespace tidemark::yarn_operator {

// Same count as for a manager whose values are replaced (policy/state).
inline constexpr std::size_t kContestedAfter = 3;
inline constexpr base::Duration kContestedWithin = std::chrono::minutes(5);

// For one cluster.
class ContestedTotals {
 public:
  void told_again(const std::vector<std::string>& nodes, base::MonotonicTime now);
  // Nodes whose total was sent again so often within that time; each stays until none was for as long.
  std::vector<std::string> nodes(base::MonotonicTime now);

 private:
  struct Told {
    std::vector<base::MonotonicTime> times;  // within the last kContestedAfter, the oldest first
    bool contested = false;
  };
  std::map<std::string, Told> told_;
};

}  // namespace tidemark::yarn_operator
