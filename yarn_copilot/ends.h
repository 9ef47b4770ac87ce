// Ends containers: at once, or with a request first and a kill if the container stays. Each end has an audit line.
//
//   kill   SIGKILL to all processes in its cgroup, or with its name if it has none
//
//   stop   SIGTERM to the same except a shell that only waits, and a kill at the deadline. If repeated, the earlier
//          deadline applies.
//
// The NodeManager sees that the processes end and reports 137 or 143. This process forgets stops when it ends, so the
// caller checks whether the container has ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "model/audit_line.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_copilot/machine.h"

namespace tidemark::yarn_copilot {

inline constexpr std::size_t kEndsWaitingMax = 64;
inline constexpr std::size_t kStopsMax = 4096;
inline constexpr base::Duration kGraceMax = std::chrono::hours(1);

// Data of an end for the log and the audit.
struct EndOrder {
  std::string id;
  std::string reason;  // from the caller: an id like TM-EVICT-001, or free text; may be empty
  std::string asker;   // "uid 0, pid 4711"
};

class Ends {
 public:
  // `machine` must outlive it; a thread of its own uses it.
  Ends(net::EventLoop& loop, const Machine& machine, base::Log log, base::Registry& metrics,
       std::function<void(model::AuditLine)> audit);

  // Returns when no process is left. kNotFound: there was none; kUnavailable: some are left.
  net::Task<Result<Machine::Ended>> kill(EndOrder order);
  // Returns when all got the signal; gives the deadline of the kill.
  net::Task<Result<base::WallTime>> stop(EndOrder order, base::Duration grace);

  // Deadline of the kill. nullopt: no stop in progress.
  std::optional<base::WallTime> deadline(std::string_view id) const;

 private:
  struct Stop {
    EndOrder order;
    base::WallTime until;
    base::MonotonicTime due;
    net::Timer timer;
  };
  net::Task<Result<Machine::Ended>> on_worker(std::string id,
                                              Result<Machine::Ended> (Machine::*end)(const std::string&) const);
  net::Task<void> finish(std::string id);
  void tell(std::string_view verb, const EndOrder& order, const Result<Machine::Ended>& done);

  net::EventLoop& loop_;
  const Machine& machine_;
  base::Log log_;
  std::function<void(model::AuditLine)> audit_;
  base::Counter& kills_;
  base::Counter& stops_;
  base::Counter& failed_;
  std::map<std::string, Stop, std::less<>> stops_of_;
  net::Scope scope_;
  net::WorkerPool worker_;  // must be the last member: it uses the others
};

}  // namespace tidemark::yarn_copilot
