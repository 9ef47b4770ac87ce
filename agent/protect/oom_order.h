// Sets the order in which the kernel kills processes if memory runs out: when the plan or the permit changes, and every
// kOomLook. Logs and audits each write.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "agent/enforcer/oom_scores.h"
#include "agent/machine_places.h"
#include "agent/protect/protect_metrics.h"
#include "agent/protect/status.h"
#include "agent/protect/write_audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "linux/cgroup/hierarchies.h"
#include "policy/protect/priority/oom_order.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

// How soon new processes in unchanged groups get their value: until then a child has its parent's.
inline constexpr base::Duration kOomLook = std::chrono::seconds(10);

class OomOrder {
 public:
  // The parts outlive it.
  struct Parts {
    const linux::Hierarchies& hierarchies;
    const MachinePlaces& places;
    const base::Log& log;
    ProtectMetrics& metrics;
    const WriteAudit& audit;
  };
  explicit OomOrder(Parts parts) : parts_(parts) {}

  void order(const policy::protect::OomPlan& plan, bool off, policy::state::Permit permit, base::MonotonicTime now);
  void fill(AgentStatus& status) const;
  // Appends what hinders it to the words of the strategy.
  std::string says(std::string strategy) const;
  std::int64_t in_force() const { return scores_ ? std::ssize(scores_->entries()) : 0; }
  std::int64_t refused() const { return scores_ ? scores_->report().refused : 0; }

 private:
  bool open(base::MonotonicTime now);
  void tell();

  Parts parts_;
  std::optional<OomScores> scores_;
  policy::protect::OomPlan plan_;                                // at the last pass
  std::optional<std::pair<bool, policy::state::Permit>> stood_;  // off and permit, then
  base::MonotonicTime next_;
  std::string trouble_;  // last logged
};

}  // namespace tidemark::agent
