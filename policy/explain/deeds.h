// Reads from an audit what was done on a node to one task.
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

namespace tidemark::policy::explain {

// The task whose actions are searched.
struct DeedSubject {
  std::string ns, name;
  std::string task;   // its id; "" if unknown
  std::string group;  // the cgroup above its own; "" if unknown
};

enum class DeedReach : std::uint8_t { kElsewhere, kAbove, kOwn };
DeedReach reach_of(const model::AuditLine& line, const DeedSubject& subject);

// Whether the new value of that file gives a cgroup less than the old one; nullopt if the two cannot be compared.
std::optional<bool> narrows(std::string_view file, std::string_view before, std::string_view after);

// The task was asked to end, or killed.
bool ends_a_task(const model::AuditLine& line);

// The value as text, if it is a string.
std::string value_text(std::string_view json);

// One of our actions; consecutive writes of one file are one action.
struct IncidentDeed {
  base::WallTime first, last;
  std::string what;    // "write", "evict", "kill"
  std::string object;  // a cgroup or a task
  std::string file;    // of a cgroup
  std::string before, after;
  std::string reason;
  std::int64_t times = 1;
  bool own = false;  // about the task in question
  bool failed = false;
  bool operator==(const IncidentDeed&) const = default;
};

// The actions within the time, in the order of their starts.
std::vector<IncidentDeed> deeds_between(std::span<const model::AuditLine> audit, const DeedSubject& subject,
                                        base::WallTime from, base::WallTime to);

// Cgroup files whose value we reduced.
class NarrowFiles {
 public:
  void take(const model::AuditLine& line, DeedReach reach);  // in the order of their times
  // One of these files, as text with its reason: of the task's own cgroups, or with kAbove also of those above them.
  // nullopt: none.
  std::optional<std::string> any(std::span<const std::string_view> files, DeedReach least = DeedReach::kOwn) const;

 private:
  struct File {
    std::string found, stands, reason;
    DeedReach reach = DeedReach::kElsewhere;
  };
  std::map<std::pair<std::string, std::string>, File> files_;  // by cgroup and file
};

}  // namespace tidemark::policy::explain
