// The rules of the NodeSLO that apply now: thresholds that a calendar or an override raised are lowered at their end by
// this node's clock, whether or not a manager writes it (policy/settings/nodeslo/lines_held.h). Thresholds that differ
// from the NodeSLO are reported: as a metric at once, and in the log when a manager should have written long ago.
//
// Each node waits its own delay within `--line-ends-within` after the end, as if a manager wrote to one node after the
// other. Otherwise every node of a cluster would evict in the same second.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "policy/settings/nodeslo/lines_held.h"

namespace tidemark::agent {

inline constexpr base::Duration kLineEndsWithin = std::chrono::minutes(10);
inline constexpr base::Duration kLineEndsWithinMax = std::chrono::hours(1);

// The delay of this node within it.
base::Duration own_moment(std::string_view node, base::Duration within);

class LineEnds {
 public:
  LineEnds(const base::Log& log, base::Registry& metrics, base::Duration later);

  void use(policy::protect::NodeRules said, base::WallTime now);
  // To be called once a second. Returns whether the thresholds changed.
  bool look(base::WallTime now);

  const policy::protect::NodeRules& said() const { return said_; }
  const policy::protect::NodeRules& rules() const { return held_.rules; }  // in force now
  // to_string() of the lowered thresholds; "" if there are none, or a manager may be about to write them.
  const std::string& says() const { return says_; }

 private:
  void hold(base::WallTime now);

  base::Log log_;
  base::Gauge& ended_;
  base::Duration later_;  // delay between the end and the lowering
  policy::protect::NodeRules said_;
  std::size_t passed_ = 0;
  policy::settings::LinesHeld held_;
  std::string says_;
};

}  // namespace tidemark::agent
