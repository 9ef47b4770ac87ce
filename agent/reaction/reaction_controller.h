// The reaction, on the agent's loop: makes the order of each decision after the journal has the values that it may
// write. Passes results to the agent: the enforcer accepts the value as ours, suppression does not grow at once, and
// the write is reported like every other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/enforcer/enforcer.h"
#include "agent/reaction/reactor.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "linux/cgroup/hierarchies.h"
#include "model/audit_line.h"
#include "model/settings/modes.h"
#include "policy/protect/reaction/reaction.h"
#include "policy/protect/reaction/reaction_pace.h"
#include "policy/protect/suppress/suppress.h"

namespace tidemark::agent {

// Pause after a reaction that wrote nothing: its trigger still exists.
inline constexpr base::Duration kReactionPause = std::chrono::seconds(1);

class ReactionController {
 public:
  // `reactor` may be null: no reaction here. It outlives this.
  ReactionController(const linux::Hierarchies& hierarchies, Reactor* reactor, const base::Log& log,
                     base::Registry& metrics);
  ReactionController(const ReactionController&) = delete;
  ReactionController& operator=(const ReactionController&) = delete;
  ~ReactionController();

  // From here on only the caller writes, until arm(). A decision calls it first, so that nothing is written after a
  // file was restored. Returns what was done meanwhile; `enforcer` may be null if nothing can have been done.
  std::optional<ReactionTaken> withdraw(Enforcer* enforcer, base::MonotonicTime now);
  // One audit line for each file that it wrote.
  std::vector<model::AuditLine> audit_lines(const ReactionTaken& taken) const;

  // A decision calls it last. `permit` is that of suppression; `mode` says whether it is also written.
  void arm(const policy::protect::SuppressPlan& decided, const policy::protect::SuppressObservation& seen,
           Permit permit, model::Mode mode, Enforcer& enforcer, base::MonotonicTime now);
  // Its thread did not start: nothing is armed from here on.
  void no_thread() { has_thread_ = false; }

  bool is_there() const { return reactor_ != nullptr; }
  std::string_view says() const { return says_; }

 private:
  std::string_view try_to_arm(const policy::protect::SuppressPlan& decided,
                              const policy::protect::SuppressObservation& seen, Permit permit, model::Mode mode,
                              Enforcer& enforcer, base::MonotonicTime now);
  std::int64_t in_force(const policy::protect::SuppressPlan& decided, const policy::protect::SuppressObservation& seen,
                        bool only_shown, const Enforcer& enforcer);
  void make_order(bool only_shown);
  bool announce(Enforcer& enforcer) const;
  void tell(const ReactionTaken& taken);

  const linux::Hierarchies& hierarchies_;
  Reactor* const reactor_;
  base::Log log_;
  base::Registry& metrics_;
  base::Histogram* seconds_ = nullptr;
  policy::protect::ReactionPlan plan_;  // armed last
  ReactionOrder order_;                 // of it
  std::vector<std::int32_t> cpus_;      // in force, as `cpus_text_`
  std::string cpus_text_;
  policy::protect::ReactionPace pace_;
  std::optional<base::MonotonicTime> not_before_;
  std::string_view says_ = "not yet";  // literals
  bool has_thread_ = true;
  bool told_trouble_ = false;
};

}  // namespace tidemark::agent
