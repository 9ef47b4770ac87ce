// The rules of the NodeSLO as they hold now: lines that a calendar or an override raised come down at their end by this
// node's clock, whether a manager is there to write so or not (policy/node_rules/lines_held.h). Lines that hold
// otherwise than the NodeSLO says are told: as a metric at once, and in words when a manager would long have written.
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "policy/node_rules/lines_held.h"

namespace tidemark::agent {

// What a manager that leads takes to write to all nodes of a large cluster.
inline constexpr base::Duration kManagerPatience = std::chrono::minutes(5);

class LineEnds {
 public:
  LineEnds(const base::Log& log, base::Registry& metrics);

  void use(policy::NodeRules said, base::WallTime now);
  // Once a second. Whether other lines hold than before.
  bool look(base::WallTime now);

  const policy::NodeRules& said() const { return said_; }
  const policy::NodeRules& rules() const { return held_.rules; }  // that hold
  // "cpuSuppressThresholdPercent 85 % -> 65 %, since …"; "" where all hold as they are said, or it is no news yet.
  const std::string& says() const { return says_; }

 private:
  void hold(base::WallTime now);
  std::string in_words() const;

  base::Log log_;
  base::Gauge& ended_;
  policy::NodeRules said_;
  std::size_t passed_ = 0;
  policy::LinesHeld held_;
  std::string says_;
};

}  // namespace tidemark::agent
