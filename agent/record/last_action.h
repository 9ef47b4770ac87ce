// The last write or eviction of this agent, to be logged beside problems that the kernel reports.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "model/audit_line.h"

namespace tidemark::agent {

class LastAction {
 public:
  // Gets every audit line; refused ones are ignored, since they changed nothing.
  void take(const model::AuditLine& line, base::MonotonicTime now);
  // "write kubepods/besteffort cpu.cfs_quota_us "2000" [TM-SUPPRESS-003], 12 s before"; "none since its start".
  std::string text(base::MonotonicTime now) const;

 private:
  struct Action {
    base::MonotonicTime at;
    std::string what;
  };
  std::optional<Action> last_;
};

}  // namespace tidemark::agent
