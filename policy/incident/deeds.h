// What an audit says was done on a node, as it concerns one task.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/audit_line.h"

namespace tidemark::policy {

// Whose deeds are looked for.
struct DeedSubject {
  std::string ns, name;
  std::string task;   // its id; "" where nobody knows it
  std::string group;  // the one above its own; "" where nobody knows it
};

enum class DeedReach : std::uint8_t { kElsewhere, kAbove, kOwn };
DeedReach reach_of(const model::AuditLine& line, const DeedSubject& subject);

// Whether a value of that file leaves a group less than the one before: nullopt where the two cannot be compared.
std::optional<bool> narrows(std::string_view file, std::string_view before, std::string_view after);

// Asked for its end, or killed.
bool ends_a_task(const model::AuditLine& line);

// The text of a value, where it is one.
std::string value_text(std::string_view json);

// What we did, as many writes of one file as came in one row.
struct IncidentDeed {
  base::WallTime first, last;
  std::string what;    // "write", "evict", "kill"
  std::string object;  // a group or a task
  std::string file;    // of a group
  std::string before, after;
  std::string reason;
  std::int64_t times = 1;
  bool own = false;  // of the task that is asked for
  bool failed = false;
  bool operator==(const IncidentDeed&) const = default;
};

// Those of the time, in the order in which they began.
std::vector<IncidentDeed> deeds_between(std::span<const model::AuditLine> audit, const DeedSubject& subject,
                                        base::WallTime from, base::WallTime to);

// Files of groups that say less by our hand than they said before it.
class NarrowFiles {
 public:
  void take(const model::AuditLine& line, DeedReach reach);  // in the order of their times
  // One of these files, in words with its reason: of the task's own groups, or with kAbove also of those above them.
  // nullopt: none.
  std::optional<std::string> any(std::span<const std::string_view> files, DeedReach least = DeedReach::kOwn) const;

 private:
  struct File {
    std::string found, stands, reason;
    DeedReach reach = DeedReach::kElsewhere;
  };
  std::map<std::pair<std::string, std::string>, File> files_;  // by group and file
};

}  // namespace tidemark::policy
