// The rules of the NodeSLO as they hold now: lines that a calendar or an override raised come down at their end by this
// node's clock, whether a manager is there to write so or not (policy/node_rules/lines_held.h). Lines that hold
// otherwise than the NodeSLO says are told: as a metric at once, and in words when a manager would long have written.
//
// Not all nodes at once: each has a moment of its own within `--line-ends-within` after the end, as a manager that
// writes to one node after the other has them come down. Otherwise every node of a cluster would evict in the same
// second.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "policy/node_rules/lines_held.h"

namespace tidemark::agent {

inline constexpr base::Duration kLineEndsWithin = std::chrono::minutes(10);
inline constexpr base::Duration kLineEndsWithinMax = std::chrono::hours(1);

// The node's own moment within it.
base::Duration own_moment(std::string_view node, base::Duration within);

class LineEnds {
 public:
  LineEnds(const base::Log& log, base::Registry& metrics, base::Duration later);

  void use(policy::NodeRules said, base::WallTime now);
  // Once a second. Whether other lines hold than before.
  bool look(base::WallTime now);

  const policy::NodeRules& said() const { return said_; }
  const policy::NodeRules& rules() const { return held_.rules; }  // that hold
  // As to_string() of them; "" where all hold as they are said, or a manager may be about to write so.
  const std::string& says() const { return says_; }

 private:
  void hold(base::WallTime now);

  base::Log log_;
  base::Gauge& ended_;
  base::Duration later_;  // than its end a line comes down
  policy::NodeRules said_;
  std::size_t passed_ = 0;
  policy::LinesHeld held_;
  std::string says_;
};

}  // namespace tidemark::agent
