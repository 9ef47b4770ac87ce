// How a container is ended: at once, or asked and killed where it stays. Each end is a line of the audit.
//
//   kill   SIGKILL to everything in its group, or with its name where it has none
//   stop   SIGTERM to the same, and the kill at the deadline. Asked again, the earlier deadline holds.
//
// Its NodeManager sees the processes end and reports what it sees: 137 or 143. A stop is forgotten with this process:
// who asked for it looks whether it has ended.
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

// What of an end is told and kept.
struct EndOrder {
  std::string id;
  std::string reason;  // of whoever asked: an id like TM-EVICT-001, or his own words; may be empty
  std::string asker;   // "uid 0, pid 4711"
};

class Ends {
 public:
  // `machine` outlives it and is used by a thread of its own.
  // `log_dirs`: of the NodeManager. Each end leaves a line in the container's log there (last_words); none: nobody
  // does.
  Ends(net::EventLoop& loop, const Machine& machine, base::Log log, base::Registry& metrics,
       std::function<void(model::AuditLine)> audit, std::vector<std::string> log_dirs);

  // Done when nobody is left. kNotFound: nobody was there; kUnavailable: some are left still.
  net::Task<Result<Machine::Ended>> kill(EndOrder order);
  // Done when all were told; answers by when they are killed.
  net::Task<Result<base::WallTime>> stop(EndOrder order, base::Duration grace);

  // By when it will be killed. nullopt: nobody asked it to stop.
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
  net::Task<void> leave_words(std::string container, std::string line);

  net::EventLoop& loop_;
  const Machine& machine_;
  base::Log log_;
  std::function<void(model::AuditLine)> audit_;
  const std::vector<std::string> log_dirs_;
  base::Counter& kills_;
  base::Counter& stops_;
  base::Counter& failed_;
  std::map<std::string, Stop, std::less<>> stops_of_;
  net::Scope scope_;
  net::WorkerPool worker_;  // last: it uses what is above
};

}  // namespace tidemark::yarn_copilot
