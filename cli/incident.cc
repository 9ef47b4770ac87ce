#include "cli/incident.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "agent/record/recorder.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "journal/read_lines.h"
#include "model/audit_line.h"
#include "model/node_record.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr std::string_view kAuditFile = "audit.jsonl";
constexpr std::size_t kInputMax = std::size_t{512} << 20;  // bytes of standard input
constexpr std::size_t kNodesNamed = 5;

// The time of a line as text, which sorts as times do: "2026-11-23T20:15:30.000000Z". "" where there is none. A
// collector may have put the keys in another order, and then it takes longer.
std::string time_of(std::string_view line) {
  constexpr std::string_view kBefore = R"("time":")";
  constexpr std::size_t kSearched = 64, kLong = 27;
  const auto at = line.substr(0, kSearched).find(kBefore);
  if (at != std::string_view::npos && line.substr(0, at).find_first_of("[") == std::string_view::npos) {
    const auto time = line.substr(at + kBefore.size(), kLong);
    if (time.size() == kLong && time.back() == 'Z') return std::string(time);
  }
  const auto json = Json::parse(line);
  const auto time = json ? base::parse_rfc3339(json->text_at("time")) : std::nullopt;
  return time ? base::format_rfc3339_micro(*time) : "";
}

bool is_audit(std::string_view line) {
  return line.contains(R"("actor":)");
}

std::string names(const std::set<std::string>& all) {
  std::string out;
  std::size_t shown = 0;
  for (const std::string& each : all) {
    if (shown++ == kNodesNamed) return cat(out, " and ", all.size() - kNodesNamed, " more");
    out += cat(out.empty() ? "" : ", ", each);
  }
  return out;
}

// Files come in any order; of one file, and of one moment in it, the order stays.
template <class Line>
void in_order(std::vector<Line>& lines) {
  if (std::ranges::is_sorted(lines, {}, &Line::time)) return;
  std::vector<std::pair<base::WallTime, std::size_t>> places;
  for (const Line& each : lines) places.emplace_back(each.time, places.size());
  std::ranges::sort(places);
  std::vector<Line> out;
  for (const auto& [time, at] : places) out.push_back(std::move(lines[at]));
  lines = std::move(out);
}

// The lines, read again for each question: what is kept of them is little.
class Lines {
 public:
  explicit Lines(const IncidentOptions& options) : options_(options) {}

  Result<void> begin() {
    for (const std::string& each : options_.files) {
      if (each != kStandardInput) continue;
      std::size_t bytes = 0;
      const auto keep = [&](std::string_view line) {
        bytes += line.size();
        if (bytes <= kInputMax) input_.emplace_back(line);
      };
      TM_TRY_VOID(journal::read_lines(STDIN_FILENO, "standard input", model::kNodeRecordLineMax, keep, read_));
      if (bytes > kInputMax) return fail(ErrorKind::kExhausted, "standard input has more than ", kInputMax, " bytes");
    }
    return {};
  }

  // Only the record or only the audit of the directory, if they are separate files.
  enum class Which : std::uint8_t { kRecord, kAudit };
  Result<void> each(Which which, const std::function<void(std::string_view)>& take) {
    const auto of_that_kind = [&](std::string_view line) {
      if (is_audit(line) == (which == Which::kAudit)) take(line);
    };
    if (!options_.lines.empty()) {
      for (const std::string_view line : base::split(options_.lines, '\n')) of_that_kind(line);
      return {};
    }
    if (options_.files.empty()) {
      const auto name = which == Which::kRecord ? agent::kRecordFile : kAuditFile;
      TM_TRY(const auto read, journal::read_kept_lines(cat(options_.state_dir, "/", name), model::kNodeRecordLineMax,
                                                       which == Which::kRecord ? take : of_that_kind));
      read_.files += read.files;
      return {};
    }
    for (const std::string& file : options_.files) {
      if (file == kStandardInput) {
        for (const std::string& line : input_) of_that_kind(line);
        continue;
      }
      const Fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
      if (!opened) return base::fail_errno(errno, cat("open ", file));
      TM_TRY_VOID(journal::read_lines(opened.get(), file, model::kNodeRecordLineMax, of_that_kind, read_));
    }
    return {};
  }

 private:
  const IncidentOptions& options_;
  std::vector<std::string> input_;
  journal::LinesRead read_;
};

class IncidentExamination {
 public:
  explicit IncidentExamination(const IncidentOptions& options)
      : options_(options),
        question_(options.question),
        lines_(options),
        first_(base::format_rfc3339_micro(question_.from + -kIncidentReadBefore)),
        last_(base::format_rfc3339_micro(question_.to + kIncidentReadAfter)),
        from_(base::format_rfc3339_micro(question_.from)),
        to_(base::format_rfc3339_micro(question_.to)) {}

  Result<policy::explain::IncidentReport> examine() {
    TM_TRY_VOID(lines_.begin());
    TM_TRY(node_, find_node());
    TM_TRY_VOID(lines_.each(Lines::Which::kRecord, [&](std::string_view line) { take_record(line); }));
    in_order(records_);
    if (const model::TaskRecord* task = policy::explain::find_task(records_, question_)) {
      subject_.task = task->task;
      subject_.group = task->group;
    }
    subject_.ns = question_.ns;
    subject_.name = question_.name;
    TM_TRY_VOID(lines_.each(Lines::Which::kAudit, [&](std::string_view line) { take_audit(line); }));
    in_order(audit_);
    return policy::explain::judge_incident(question_, {records_, audit_, audit_begins_, lost_});
  }

 private:
  bool in_reach(std::string_view line) const {
    const auto time = time_of(line);
    return !time.empty() && time >= first_ && time <= last_;
  }

  Result<std::string> find_node() {
    if (!options_.node.empty()) return options_.node;
    std::set<std::string> all, with_it;
    std::string oldest, newest;
    std::optional<Error> broken;
    const std::string name = cat('"', question_.name, '"');
    TM_TRY_VOID(lines_.each(Lines::Which::kRecord, [&](std::string_view line) {
      const auto time = time_of(line);
      if (time.empty()) return;
      if (oldest.empty() || time < oldest) oldest = time;
      if (time > newest) newest = time;
      if (!in_reach(line)) return;
      const auto read = model::parse_node_record(line);
      if (!read) {
        if (!broken) broken = read.error();
        return;
      }
      all.insert(read->record.node);
      const auto is_it = [&](const model::TaskRecord& one) {
        return one.ns == question_.ns && one.name == question_.name;
      };
      if (line.contains(name) && std::ranges::any_of(read->record.tasks, is_it)) with_it.insert(read->record.node);
    }));
    if (with_it.size() == 1) return *with_it.begin();
    if (with_it.size() > 1) {
      return fail(ErrorKind::kInvalid, "several nodes had it in that time: ", names(with_it),
                  "; --node says which is meant");
    }
    if (all.size() == 1) return *all.begin();
    if (!all.empty()) {
      return fail(ErrorKind::kNotFound, "no line of ", all.size(), " nodes (", names(all),
                  ") has it in that time; --node looks at one of them all the same");
    }
    if (broken) return std::unexpected(std::move(*broken).within("the record"));
    if (oldest.empty()) {
      return fail(ErrorKind::kNotFound, "there is no record in ",
                  options_.files.empty() ? options_.state_dir : base::join(options_.files, ", "),
                  ": the agent keeps one in its --state-dir");
    }
    return fail(ErrorKind::kNotFound, "the record has nothing of that time: it goes from ", oldest, " to ", newest);
  }

  void take_record(std::string_view line) {
    const auto time = time_of(line);
    if (time.empty()) {
      if (line_before_in_time_) note_lost(line);
      return;
    }
    line_before_in_time_ = time >= from_ && time <= to_;
    if (!in_reach(line)) return;
    auto read = model::parse_node_record(line);
    if (!read) {
      if (line_before_in_time_) ++lost_;
    } else if (read->lost == 0 && read->record.node == node_) {
      records_.push_back(std::move(read->record));
    }
  }

  void note_lost(std::string_view line) {
    if (const auto read = model::parse_node_record(line)) lost_ += read->lost;
  }

  void take_audit(std::string_view line) {
    const auto time = time_of(line);
    if (time.empty() || time > to_) return;
    const bool in_time = time >= from_;
    // What was written before matters where it is the task's: most lines are others', and are not parsed.
    if (!in_time && audit_begins_ && !line.contains(R"("CgroupFile")")) return;
    auto read = model::parse_audit_line(line);
    if (!read || read->lost > 0) {
      if (in_time) ++lost_;
      return;
    }
    if (!options_.files.empty() && !read->line.actor.ends_with(cat(" ", node_)) && read->line.name != question_.name) {
      return;
    }
    if (!audit_begins_) audit_begins_ = read->line.time;
    audit_begins_ = std::min(*audit_begins_, read->line.time);
    const auto reach = policy::explain::reach_of(read->line, subject_);
    if (in_time || reach != policy::explain::DeedReach::kElsewhere) audit_.push_back(std::move(read->line));
  }

  const IncidentOptions& options_;
  const policy::explain::IncidentQuestion& question_;
  Lines lines_;
  std::string first_, last_, from_, to_;
  std::string node_;
  policy::explain::DeedSubject subject_;
  std::vector<model::NodeRecord> records_;
  std::vector<model::AuditLine> audit_;
  std::optional<base::WallTime> audit_begins_;
  std::uint64_t lost_ = 0;
  bool line_before_in_time_ = false;
};

}  // namespace

Result<policy::explain::IncidentQuestion> parse_incident_task(std::string_view text) {
  policy::explain::IncidentQuestion question;
  const auto slash = text.find('/');
  if (slash != std::string_view::npos) question.ns = text.substr(0, slash);
  question.name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (question.name.empty() || (slash != std::string_view::npos && question.ns.empty())) {
    return fail(ErrorKind::kInvalid, "wanted NAMESPACE/POD, found ", base::in_quotes(text));
  }
  return question;
}

Result<policy::explain::IncidentReport> examine_incident(const IncidentOptions& options) {
  return IncidentExamination(options).examine();
}

}  // namespace tidemark::cli
