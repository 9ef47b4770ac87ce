#include "policy/explain/incident_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "policy/explain/overcommit_text.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;
using Fact = IncidentFact;

constexpr std::size_t kTimeAt = 11;  // of "2026-11-23T20:15:00Z": behind the day
constexpr std::size_t kTimeLong = 8;

std::string clock_text(base::WallTime time) {
  return base::format_rfc3339(time).substr(kTimeAt, kTimeLong);
}

std::string duration_text(base::Duration time) {
  return base::format_go_duration(std::chrono::duration_cast<std::chrono::seconds>(time));
}

// "12.3 %"
std::string percent(std::int64_t permille) {
  return cat(permille / 10, ".", permille % 10, " %");
}

// "3.14"
std::string cores(std::int64_t milli) {
  constexpr std::int64_t kMilli = 1000, kCenti = 10;
  const std::int64_t hundredths = milli % kMilli / kCenti;
  return cat(milli / kMilli, ".", hundredths < 10 ? "0" : "", hundredths);
}
std::string cores(const std::optional<std::int64_t>& milli) {
  return milli ? cores(*milli) : "-";
}

std::string bytes(std::int64_t number) {
  return amount_text(model::MemoryBytes{number});
}

std::string task_text(const IncidentQuestion& question) {
  return question.ns.empty() ? question.name : cat(question.ns, "/", question.name);
}

std::string_view word(IncidentVerdict verdict) {
  switch (verdict) {
    case IncidentVerdict::kOurs:
      return "OURS";
    case IncidentVerdict::kLikely:
      return "LIKELY";
    case IncidentVerdict::kCannotTell:
      return "CANNOT TELL";
    case IncidentVerdict::kNotOurs:
      break;
  }
  return "NOT OURS";
}

std::string_view answer(IncidentVerdict verdict) {
  switch (verdict) {
    case IncidentVerdict::kOurs:
      return "yes: Tidemark caused it";
    case IncidentVerdict::kLikely:
      return "likely: it waited for resources that offline work used";
    case IncidentVerdict::kCannotTell:
      return "unknown: the record is not sufficient";
    case IncidentVerdict::kNotOurs:
      break;
  }
  return "no: neither Tidemark nor offline work delayed it";
}

std::string waited(const IncidentFinding& finding, std::string_view what) {
  return cat("waited for ", what, " ", percent(finding.average), " of the time, ", percent(finding.worst),
             " at its worst");
}
std::string beside(const IncidentFinding& finding) {
  return cat("offline work had up to ", cores(finding.beside), " of ", cores(finding.of), " cores");
}
std::string beside_bytes(const IncidentFinding& finding) {
  return cat("offline work held up to ", bytes(finding.beside), " of ", bytes(finding.of));
}
std::string named(const IncidentFinding& finding) {
  return finding.detail.empty() ? std::string() : cat(" (", finding.detail, ")");
}
std::string times(const IncidentFinding& finding) {
  return finding.worst == 1 ? "once" : cat(finding.worst, " times");
}

std::string found(const IncidentFinding& finding) {
  switch (finding.fact) {
    case Fact::kEnded:
      return cat("Tidemark stopped it", named(finding));
    case Fact::kNarrowed:
      return cat("Tidemark lowered its limits, ", times(finding), "; first", named(finding));
    case Fact::kHeldByOurs:
      return cat("throttled in ", percent(finding.average), " of the periods, ", percent(finding.worst),
                 " at its worst, by Tidemark's quota", named(finding));
    case Fact::kOfflineLimited:
      return cat(waited(finding, "processors"), ", as offline work, which was limited to ", cores(finding.beside),
                 " of ", cores(finding.of), " cores");
    case Fact::kCpuAtOurLimit:
      return cat(waited(finding, "processors"), ", where we hold offline work", named(finding), ": of ",
                 cores(finding.of), " cores left there, up to ", cores(finding.beside), " were used");
    case Fact::kOomAtOurLimit:
      return cat("killed for lack of memory ", times(finding), ", at Tidemark's limit", named(finding));
    case Fact::kOomAtOwnLimit:
      return cat("killed for lack of memory ", times(finding), ", at its own limit", named(finding));
    case Fact::kOomOfMachine:
      return cat("killed ", times(finding), " because the machine was out of memory", named(finding), "; ",
                 beside_bytes(finding));
    case Fact::kOomOfMachineAlone:
      return cat("killed ", times(finding), " because the machine was out of memory", named(finding),
                 "; offline work used almost none of it");
    case Fact::kOomUntold:
      return cat("killed for lack of memory ", times(finding), "; the kernel's log does not name the limit");
    case Fact::kHeldByOwn:
      return cat("throttled in ", percent(finding.average), " of the periods, ", percent(finding.worst),
                 " at its worst, by its own limit of CPU");
    case Fact::kLimitHit:
      return cat("its memory reached its own limit ", times(finding));
    case Fact::kCpuBeside:
      return cat(waited(finding, "processors"), "; ", beside(finding));
    case Fact::kCpuAlone:
      return cat(waited(finding, "processors"), ", and not for offline work, which had ", cores(finding.beside), " of ",
                 cores(finding.of), " cores at most");
    case Fact::kCpuHeldAndBeside:
      return cat(waited(finding, "processors"), " while its own limit throttled it; ", beside(finding),
                 ". The kernel does not report how much of the wait the limit caused");
    case Fact::kCpuUnderOurLimit:
      return cat(waited(finding, "processors"), ", where we hold offline work", named(finding),
                 "; whether all that is left there was used is not recorded");
    case Fact::kMemoryBeside:
      return cat(waited(finding, "memory"), "; ", beside_bytes(finding));
    case Fact::kMemoryAlone:
      return cat(waited(finding, "memory"), ", and offline work used almost none");
    case Fact::kIoBeside:
      return cat(waited(finding, "disks"), "; offline work moved ", bytes(finding.beside), " of ", bytes(finding.of),
                 " a second");
    case Fact::kIoAlone:
      return cat(waited(finding, "disks"), "; offline work moved ", bytes(finding.beside), " of ", bytes(finding.of),
                 " a second");
    case Fact::kIoUnknown:
      return cat(waited(finding, "disks"), ", and their users are not measured here");
    case Fact::kKernel:
      return cat("the kernel complained ", times(finding), named(finding));
    case Fact::kQuiet:
      return "nothing slowed it down: it got the resources that it requested";
    case Fact::kPressureUnknown:
      return "this kernel does not report the wait of a cgroup: unknown whether it waited";
    case Fact::kGaps:
      return cat(duration_text(std::chrono::seconds(finding.worst)), " of the time are not recorded");
    case Fact::kAbsent:
      return "no line of the record contains it";
    case Fact::kAuditShort:
      return "writes before that time are not stored here: one of Tidemark's limits may be in force";
    case Fact::kLinesLost:
      return cat(finding.worst, " lines of the record or the audit could not be kept then");
  }
  return "unknown";
}

std::string_view key(Fact fact) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Fact::kLast) + 1> kKeys = {
      "ended",         "narrowed",     "heldByOurs",        "offlineLimited",   "cpuAtOurLimit", "oomAtOurLimit",
      "oomAtOwnLimit", "oomOfMachine", "oomOfMachineAlone", "oomUntold",        "heldByOwn",     "limitHit",
      "cpuBeside",     "cpuAlone",     "cpuHeldAndBeside",  "cpuUnderOurLimit", "memoryBeside",  "memoryAlone",
      "ioBeside",      "ioAlone",      "ioUnknown",         "kernel",           "quiet",         "pressureUnknown",
      "gaps",          "absent",       "auditShort",        "linesLost"};
  return kKeys[static_cast<std::size_t>(fact)];
}

std::string padded(std::string text, std::size_t width) {
  // In letters: a "-" for an unknown value is one.
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// Columns that most records have nothing for.
struct MoreColumns {
  bool queue = false, cpi = false;
};

std::string row_text(const IncidentMoment& moment, const MoreColumns& more) {
  const auto share = [&](std::int64_t permille) {
    return !moment.listed ? std::string("-") : moment.quiet ? std::string("<1 %") : percent(permille);
  };
  const bool told = moment.listed && !moment.quiet;
  return cat("  ", clock_text(moment.to), padded(cores(moment.used_milli), 9), padded(cores(moment.offline_milli), 9),
             padded(cores(moment.limit_milli), 9),
             padded(told ? cat(cores(moment.task.cpu_milli), "/", cores(moment.task.cpu_peak_milli)) : "-", 14),
             padded(share(moment.task.throttled_permille), 9), padded(share(moment.task.cpu_pressure), 9),
             padded(share(moment.task.memory_pressure), 9), padded(share(moment.task.io_pressure), 9),
             more.queue ? padded(told ? cores(moment.task.run_queue) : "-", 7) : "",
             more.cpi ? padded(told && moment.task.cpi > 0 ? cores(moment.task.cpi) : "-", 7) : "", "\n");
}

// If there are more lines than a page has: the worst ones, in order.
std::vector<const IncidentMoment*> shown(const std::vector<IncidentMoment>& moments) {
  std::vector<const IncidentMoment*> out;
  for (const IncidentMoment& each : moments) out.push_back(&each);
  if (out.size() <= kIncidentRowsMax) return out;
  const auto bad = [](const IncidentMoment* one) {
    const model::TaskRecord& task = one->task;
    return std::max({task.throttled_permille, task.cpu_pressure, task.memory_pressure, task.io_pressure,
                     task.run_queue_worst}) +
           (task.oom_kills > 0 ? std::int64_t{1'000'000} : 0);
  };
  std::ranges::sort(out, [&](const IncidentMoment* a, const IncidentMoment* b) {
    return std::pair(bad(b), a->from) < std::pair(bad(a), b->from);
  });
  out.resize(kIncidentRowsMax);
  std::ranges::sort(out, {}, [](const IncidentMoment* one) { return one->from; });
  return out;
}

std::string moments_text(const IncidentReport& report) {
  if (report.moments.empty()) return {};
  const MoreColumns more{std::ranges::any_of(report.moments, [](const auto& one) { return one.task.run_queue > 0; }),
                         std::ranges::any_of(report.moments, [](const auto& one) { return one.task.cpi > 0; })};
  std::string out = cat("\nrecord of ", report.node, ", lines that end at (UTC)\n            ",
                        "CORES  OFFLINE    LIMIT   ITS CPU/PEAK    HELD  CPU WAIT MEM WAIT  IO WAIT",
                        more.queue ? "  QUEUE" : "", more.cpi ? "    CPI" : "", "\n");
  const auto rows = shown(report.moments);
  for (const IncidentMoment* each : rows) out += row_text(*each, more);
  if (rows.size() < report.moments.size()) {
    out += cat("  and ", report.moments.size() - rows.size(), " in which it was throttled less; -o json shows all\n");
  }
  return out;
}

std::string span_text(base::WallTime from, base::WallTime to) {
  const std::string begin = clock_text(from), end = clock_text(to);
  return begin == end ? begin : cat(begin, " to ", end);
}

// "…/podd41899dbc…/510d55deb9ce…": directory names of a runtime say little and fill the whole line.
std::string group_text(std::string_view path) {
  constexpr std::size_t kShown = 2, kLong = 20, kKept = 12;
  auto pieces = base::split(path, '/');
  std::string out;
  if (pieces.size() > kShown) {
    pieces.erase(pieces.begin(), pieces.end() - kShown);
    out = "…";
  }
  for (const std::string_view each : pieces) {
    if (!out.empty()) out += '/';
    out += each.size() > kLong ? cat(each.substr(0, kKept), "…") : std::string(each);
  }
  return out;
}

std::string deed_text(const IncidentDeed& deed) {
  std::string out = cat("  ", span_text(deed.first, deed.last), "  ", deed.own ? "its own: " : "", deed.what, " ",
                        deed.file.empty() ? deed.object : group_text(deed.object));
  if (!deed.file.empty()) out += cat(" ", deed.file, " ", deed.before, " -> ", deed.after);
  if (deed.times > 1) out += cat(", ", deed.times, " writes");
  if (deed.failed) out += deed.file.empty() && !deed.after.empty() ? cat(", failed: ", deed.after) : ", failed";
  return cat(out, "  ", deed.reason, "\n");
}

std::string deeds_text(const IncidentReport& report) {
  if (report.deeds.empty()) return "\nwhat Tidemark did on the node in that time: nothing\n";
  std::vector<const IncidentDeed*> rows;
  for (const IncidentDeed& each : report.deeds) {
    if (each.own) rows.push_back(&each);
  }
  for (const IncidentDeed& each : report.deeds) {
    if (!each.own) rows.push_back(&each);
  }
  const std::size_t more = rows.size() > kIncidentDeedsMax ? rows.size() - kIncidentDeedsMax : 0;
  rows.resize(rows.size() - more);
  std::ranges::sort(rows, {}, [](const IncidentDeed* one) { return one->first; });
  std::string out = "\nwhat Tidemark did on the node in that time\n";
  for (const IncidentDeed* each : rows) out += deed_text(*each);
  if (more > 0) out += cat("  and ", more, " more; -o json has all\n");
  return out;
}

std::string seen_text(const IncidentReport& report) {
  std::string out = cat(duration_text(report.recorded), " of ",
                        duration_text(report.question.to - report.question.from), " recorded");
  if (!report.permits.empty()) out += cat("; suppression: ", base::join(report.permits, ", then "));
  out += report.audit_begins ? cat("; audit from ", base::format_rfc3339(*report.audit_begins)) : "; no audit";
  return out;
}

Json number(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json();
}

Json moment_json(const IncidentMoment& moment) {
  Json out = Json::object({{"from", Json(base::format_rfc3339(moment.from))},
                           {"to", Json(base::format_rfc3339(moment.to))},
                           {"permit", Json(moment.permit)},
                           {"cpus", Json(moment.cpus)},
                           {"usedMilli", number(moment.used_milli)},
                           {"offlineMilli", number(moment.offline_milli)},
                           {"offlineLimitMilli", number(moment.limit_milli)},
                           {"there", Json(moment.listed)},
                           {"quiet", Json(moment.listed && moment.quiet)}});
  if (!moment.listed || moment.quiet) return out;
  const model::TaskRecord& task = moment.task;
  out["task"] = Json::object({{"cpuMilli", Json(task.cpu_milli)},
                              {"cpuPeakMilli", Json(task.cpu_peak_milli)},
                              {"memoryBytes", Json(task.memory_bytes)},
                              {"throttledPermille", Json(task.throttled_permille)},
                              {"cpuPressurePermille", Json(task.cpu_pressure)},
                              {"memoryPressurePermille", Json(task.memory_pressure)},
                              {"ioPressurePermille", Json(task.io_pressure)},
                              {"runQueueWorstPermille", Json(task.run_queue_worst)},
                              {"limitHits", Json(task.limit_hits)},
                              {"oomKills", Json(task.oom_kills)}});
  return out;
}

Json deed_json(const IncidentDeed& deed) {
  return Json::object({{"first", Json(base::format_rfc3339_micro(deed.first))},
                       {"last", Json(base::format_rfc3339_micro(deed.last))},
                       {"what", Json(deed.what)},
                       {"object", Json(deed.object)},
                       {"file", deed.file.empty() ? Json() : Json(deed.file)},
                       {"before", Json(deed.before)},
                       {"after", Json(deed.after)},
                       {"reason", Json(deed.reason)},
                       {"times", Json(deed.times)},
                       {"own", Json(deed.own)},
                       {"failed", Json(deed.failed)}});
}

}  // namespace

std::string render_text(const IncidentReport& report) {
  std::string out =
      cat(task_text(report.question), report.node.empty() ? "" : cat(" on ", report.node),
          report.offline ? ", offline work" : "", "\n", base::format_rfc3339(report.question.from), " to ",
          base::format_rfc3339(report.question.to), "\n\nwas it us?  ", answer(report.verdict), "\n");
  if (!report.findings.empty()) out += "\n";
  for (const IncidentFinding& each : report.findings) {
    std::string mark(word(verdict_of(each.fact)));
    mark.resize(std::max<std::size_t>(mark.size(), 13), ' ');
    out += cat("  ", mark, span_text(each.from, each.to), "  ", found(each), "\n");
  }
  out += cat("\n", seen_text(report), "\n");
  out += moments_text(report);
  out += deeds_text(report);
  return out;
}

Json render_json(const IncidentReport& report) {
  Json findings = Json::array(), moments = Json::array(), deeds = Json::array(), permits = Json::array();
  for (const IncidentFinding& each : report.findings) {
    findings.as_array().push_back(Json::object({{"fact", Json(key(each.fact))},
                                                {"verdict", Json(to_string(verdict_of(each.fact)))},
                                                {"from", Json(base::format_rfc3339(each.from))},
                                                {"to", Json(base::format_rfc3339(each.to))},
                                                {"worst", Json(each.worst)},
                                                {"average", Json(each.average)},
                                                {"offline", Json(each.beside)},
                                                {"of", Json(each.of)},
                                                {"detail", Json(each.detail)},
                                                {"text", Json(found(each))}}));
  }
  for (const IncidentMoment& each : report.moments) moments.as_array().push_back(moment_json(each));
  for (const IncidentDeed& each : report.deeds) deeds.as_array().push_back(deed_json(each));
  for (const std::string& each : report.permits) permits.as_array().push_back(Json(each));
  return Json::object({{"schema", Json(1)},
                       {"namespace", Json(report.question.ns)},
                       {"name", Json(report.question.name)},
                       {"task", Json(report.task)},
                       {"offline", Json(report.offline)},
                       {"node", Json(report.node)},
                       {"from", Json(base::format_rfc3339(report.question.from))},
                       {"to", Json(base::format_rfc3339(report.question.to))},
                       {"verdict", Json(to_string(report.verdict))},
                       {"answer", Json(answer(report.verdict))},
                       {"findings", std::move(findings)},
                       {"recordedSeconds",
                        Json(std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(report.recorded).count()})},
                       {"auditFrom", report.audit_begins ? Json(base::format_rfc3339(*report.audit_begins)) : Json()},
                       {"permits", std::move(permits)},
                       {"moments", std::move(moments)},
                       {"deeds", std::move(deeds)}});
}

}  // namespace tidemark::policy::explain
