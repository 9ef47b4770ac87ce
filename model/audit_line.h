// One line of the audit: one write of a process, with actor, object, reason and outcome. All targets (an object of a
// cluster, a ResourceManager, a cgroup file, a kill) use the same format, so that one reader is enough:
//
//    {"schema":1,"time":"2026-11-21T21:00:00.123456Z","actor":"manager node-7-3f2a","verb":"patch",
//     "object":{"kind":"Node","name":"node-1","part":"status"},"old":{…},"new":{…},
//     "reason":"TM-WRITE-005","config":"9f86d081884c7d65","trace":"1b4e28ba-…","outcome":"done","milliseconds":12}
//
// Unknown values are null. A value larger than kAuditValueMax is cut and written as text with its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::model {

inline constexpr std::int64_t kAuditSchema = 1;
inline constexpr std::size_t kAuditValueMax = std::size_t{8} << 10;  // bytes of an old or new value
inline constexpr std::size_t kAuditDetailMax = 500;                  // bytes of the error text

enum class AuditOutcome : std::uint8_t {
  kDone,
  kRefused,  // the receiver rejected it: nothing changed
  kUnknown,  // no answer: it may have happened
};

struct AuditLine {
  base::WallTime time;  // when its outcome was known
  std::string actor;    // the process or person
  std::string verb;     // "create", "patch", "delete"
  std::string kind;     // of the object
  std::string ns;       // "" if it has none
  std::string name;
  std::string part;       // a sub-resource; "" for the object itself
  std::string old_value;  // JSON; "" if unknown
  std::string new_value;  // JSON; "" if nothing is written or it is confidential
  std::string reason;     // an id (model/reason.h); "" if there is none
  std::string config;     // hash of the settings of the decision; "" if none
  std::string trace;      // the id at the receiver: the auditID of an API server request
  AuditOutcome outcome = AuditOutcome::kDone;
  std::string detail;  // the error
  base::Duration took{0};
};

std::string to_string(const AuditLine& line);  // without a newline

struct AuditLineRead {
  AuditLine line;
  std::uint64_t lost = 0;  // above 0: this many lines are missing here, and `line` is unset
};
// kUnsupported: another schema. Unknown keys are ignored; values are returned as JSON.
Result<AuditLineRead> parse_audit_line(std::string_view line);

}  // namespace tidemark::model
