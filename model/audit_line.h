// One line of the audit: one write that left a process, with who, what, what for and what came of it. The same shape
// whatever is written to (an object of a cluster, a ResourceManager, a cgroup file, a kill), so that one reader reads
// them all:
//
//   {"schema":1,"time":"2026-11-21T21:00:00.123456Z","actor":"manager node-7-3f2a","verb":"patch",
//    "object":{"kind":"Node","name":"node-1","part":"status"},"old":{…},"new":{…},
//    "reason":"TM-WRITE-005","config":"9f86d081884c7d65","trace":"1b4e28ba-…","outcome":"done","milliseconds":12}
//
// What is not known is null. A value larger than kAuditValueMax is cut and told as text, with its size beside it.
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
inline constexpr std::size_t kAuditDetailMax = 500;                  // bytes of what went wrong

enum class AuditOutcome : std::uint8_t {
  kDone,
  kRefused,  // the other side said no: nothing changed
  kUnknown,  // no answer: it may have happened
};

struct AuditLine {
  base::WallTime time;  // when its outcome was known
  std::string actor;    // the process or person
  std::string verb;     // "create", "patch", "delete"
  std::string kind;     // of the object
  std::string ns;       // "" where it has none
  std::string name;
  std::string part;       // a sub-resource; "" for the object itself
  std::string old_value;  // JSON; "" where nobody knows it
  std::string new_value;  // JSON; "" where nothing is written, or nobody may see it
  std::string reason;     // an id (model/reason.h); "" where there is none
  std::string config;     // hash of the settings it was decided by; "" where it rests on none
  std::string trace;      // the same at the other side: of the API server it is the auditID of the request
  AuditOutcome outcome = AuditOutcome::kDone;
  std::string detail;  // what went wrong
  base::Duration took{0};
};

std::string to_string(const AuditLine& line);  // without a newline

struct AuditLineRead {
  AuditLine line;
  std::uint64_t lost = 0;  // more than 0: so many lines are missing here, and there is none
};
// kUnsupported: of another schema. Keys that it does not know are passed over; values come as the JSON that they are.
Result<AuditLineRead> parse_audit_line(std::string_view line);

}  // namespace tidemark::model
