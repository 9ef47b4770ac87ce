// What this agent did last to its machine or to what runs there, to be told beside what the kernel complains of.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "model/audit_line.h"

namespace tidemark::agent {

class LastAction {
 public:
  // Whatever the audit is told of; what was refused changed nothing.
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
