#include "policy/explain/deeds.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

constexpr std::string_view kFile = "CgroupFile";
constexpr std::string_view kGroup = "Cgroup";

bool is_in(std::string_view path, std::string_view group) {
  return group.empty() || (path.starts_with(group) && (path.size() == group.size() || path[group.size()] == '/'));
}

// systemd unit names have "_" instead of "-".
bool names_id(std::string_view path, const std::string& id) {
  if (id.empty()) return false;
  std::string escaped = id;
  std::ranges::replace(escaped, '-', '_');
  return path.contains(id) || path.contains(escaped);
}

// The number of CPUs in a list such as "0-3,8".
std::optional<std::int64_t> processors_of(std::string_view text) {
  std::int64_t count = 0;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto dash = piece.find('-');
    const auto first = base::parse_int(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : base::parse_int(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
    count += *last - *first + 1;
  }
  return count;
}

// In v2 the period follows the quota.
std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find(' '));
}

bool has_no_limit(std::string_view text) {
  return first_word(text) == "max" || text == "-1";
}

// A double, because v1's largest limit exceeds int64 arithmetic.
std::optional<double> number_of(std::string_view text) {
  return base::parse_double(first_word(text));
}

}  // namespace

DeedReach reach_of(const model::AuditLine& line, const DeedSubject& subject) {
  if (line.kind == kFile || line.kind == kGroup) {
    if (names_id(line.name, subject.task)) return DeedReach::kOwn;
    if (!subject.group.empty() && !line.name.empty() && is_in(subject.group, line.name)) return DeedReach::kAbove;
    return DeedReach::kElsewhere;
  }
  const bool by_name = line.ns == subject.ns && line.name == subject.name;
  return by_name || (!subject.task.empty() && line.name == subject.task) ? DeedReach::kOwn : DeedReach::kElsewhere;
}

bool ends_a_task(const model::AuditLine& line) {
  return line.kind == kGroup || line.part == "eviction" || line.kind == "CopilotTask" ||
         (line.kind == "Pod" && line.verb == "delete");
}

std::string value_text(std::string_view json) {
  const auto value = Json::parse(json);
  if (!value) return std::string(json);
  return value->is_string() ? value->as_string() : value->dump();
}

std::optional<bool> narrows(std::string_view file, std::string_view before, std::string_view after) {
  if (before.empty() || after.empty()) return std::nullopt;
  if (file == "cpuset.cpus") {
    const auto was = processors_of(before), is = processors_of(after);
    return was && is ? std::optional(*is < *was) : std::nullopt;
  }
  if (has_no_limit(before) && file != "cpu.bvt_warp_ns" && file != "cpu.qos_level") return !has_no_limit(after);
  if (has_no_limit(after) && file != "cpu.bvt_warp_ns" && file != "cpu.qos_level") return false;
  const auto was = number_of(before), is = number_of(after);
  if (!was || !is) return std::nullopt;
  return file == "cpu.idle" ? *is > *was : *is < *was;
}

std::vector<IncidentDeed> deeds_between(std::span<const model::AuditLine> audit, const DeedSubject& subject,
                                        base::WallTime from, base::WallTime to) {
  std::vector<IncidentDeed> out;
  std::map<std::pair<std::string, std::string>, std::size_t> rows;
  for (const model::AuditLine& line : audit) {
    const bool of_groups = line.kind == kFile || ends_a_task(line);
    if (!of_groups || line.time < from || line.time > to) continue;
    const bool own = reach_of(line, subject) == DeedReach::kOwn;
    const bool failed = line.outcome != model::AuditOutcome::kDone;
    if (line.kind == kFile) {
      const auto [row, made] = rows.try_emplace({line.name, line.part}, out.size());
      if (!made && out[row->second].failed == failed) {
        IncidentDeed& known = out[row->second];
        known.last = line.time;
        known.after = value_text(line.new_value);
        known.reason = line.reason;
        ++known.times;
        continue;
      }
      row->second = out.size();
    }
    IncidentDeed& deed = out.emplace_back();
    deed.first = deed.last = line.time;
    deed.what = line.part == "eviction" ? "evict" : line.verb;
    deed.object = line.ns.empty() ? line.name : base::cat(line.ns, "/", line.name);
    if (line.kind == kFile) {
      deed.file = line.part;
      deed.before = value_text(line.old_value);
      deed.after = value_text(line.new_value);
    } else if (failed) {
      deed.after = line.detail;
    }
    deed.reason = line.reason;
    deed.own = own;
    deed.failed = failed;
  }
  return out;
}

void NarrowFiles::take(const model::AuditLine& line, DeedReach reach) {
  if (line.kind != kFile || line.outcome != model::AuditOutcome::kDone) return;
  const auto [at, made] = files_.try_emplace({line.name, line.part});
  if (made) at->second.found = value_text(line.old_value);
  at->second.stands = value_text(line.new_value);
  at->second.reason = line.reason;
  at->second.reach = reach;
  if (!narrows(line.part, at->second.found, at->second.stands).value_or(true)) files_.erase(at);
}

std::optional<std::string> NarrowFiles::any(std::span<const std::string_view> files, DeedReach least) const {
  for (const auto& [key, file] : files_) {
    if (file.reach < least) continue;
    if (std::ranges::find(files, std::string_view(key.second)) == files.end()) continue;
    const std::string above = file.reach == DeedReach::kAbove ? base::cat(" of ", key.first) : "";
    return base::cat(key.second, above, " = ", file.stands, " (", file.found, " before), ", file.reason);
  }
  return std::nullopt;
}

}  // namespace tidemark::policy::explain
