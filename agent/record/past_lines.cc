#include "agent/record/past_lines.h"

#include <deque>
#include <string_view>
#include <utility>

#include "agent/record/recorder.h"
#include "base/text.h"
#include "journal/audit_file.h"
#include "journal/read_lines.h"
#include "model/node_record.h"

namespace tidemark::agent {
namespace {

constexpr std::string_view kKernelFile = R"("CgroupFile")";  // kind of an audit line

// "2026-11-23T20:15:30.000000Z", which sorts as times do; "" if there is none, as in a line about lost lines.
std::string_view time_of(std::string_view line) {
  constexpr std::string_view kKey = R"("time":")";
  constexpr std::size_t kSearched = 64, kLong = 27;
  const auto at = line.substr(0, kSearched).find(kKey);
  const auto time = at == std::string_view::npos ? "" : line.substr(at + kKey.size(), kLong);
  return time.size() == kLong && time.back() == 'Z' ? time : "";
}

void append(std::string& lines, std::string_view line) {
  lines += line;
  lines += '\n';
}

std::unexpected<Error> too_much(std::size_t bytes_max) {
  return fail(ErrorKind::kExhausted, "the agent recorded more than ", bytes_max,
              " bytes in that time; ask for less time");
}

Result<base::WallTime> time_in(const net::Target& target, std::string_view key) {
  const auto since_1970 = base::parse_int(target.get(key));
  if (!since_1970 || *since_1970 < 0) return fail(ErrorKind::kInvalid, key, ": expected seconds since 1970");
  return base::WallTime{std::chrono::seconds(*since_1970)};
}

}  // namespace

Result<std::string> record_lines(const std::string& path, base::WallTime from, base::WallTime to,
                                 std::size_t bytes_max) {
  const std::string first = base::format_rfc3339_micro(from), last = base::format_rfc3339_micro(to);
  std::string out;
  bool before_was_in = false, full = false;
  TM_TRY_VOID(journal::read_kept_lines(path, model::kNodeRecordLineMax, [&](std::string_view line) {
    const auto time = time_of(line);
    if (!time.empty()) before_was_in = time >= first && time <= last;
    if (!before_was_in || full) return;
    full = out.size() + line.size() >= bytes_max;
    if (!full) append(out, line);
  }));
  if (full) return too_much(bytes_max);
  return out;
}

Result<std::string> audit_lines(const std::string& path, base::WallTime from, base::WallTime to,
                                std::size_t bytes_max) {
  const std::string first = base::format_rfc3339_micro(from), last = base::format_rfc3339_micro(to);
  std::string begin, in_time;
  std::deque<std::string> before;
  std::size_t before_bytes = 0;
  bool full = false;
  TM_TRY_VOID(journal::read_kept_lines(path, model::kNodeRecordLineMax, [&](std::string_view line) {
    const auto time = time_of(line);
    if (time.empty() || time > last || full) return;
    if (begin.empty()) {
      append(begin, line);
    } else if (time >= first) {
      append(in_time, line);
      full = in_time.size() >= bytes_max;
    } else if (line.contains(kKernelFile)) {
      append(before.emplace_back(), line);
      before_bytes += before.back().size();
    }
    while (!before.empty() && begin.size() + before_bytes + in_time.size() > bytes_max) {
      before_bytes -= before.front().size();
      before.pop_front();
    }
  }));
  if (full) return too_much(bytes_max);
  for (const std::string& line : before) begin += line;
  return begin + in_time;
}

journal::PastAnswers past_of_agent(const std::string& state_dir, const std::string& audit) {
  journal::PastAnswers out;
  if (!state_dir.empty()) {
    out["/past/record"] =
        [path = base::cat(state_dir, "/", kRecordFile)](const net::Target& target) -> Result<std::string> {
      TM_TRY(const auto from, time_in(target, "from"));
      TM_TRY(const auto to, time_in(target, "to"));
      return record_lines(path, from, to);
    };
  }
  if (journal::is_file(audit)) {
    out["/past/audit"] = [audit](const net::Target& target) -> Result<std::string> {
      TM_TRY(const auto from, time_in(target, "from"));
      TM_TRY(const auto to, time_in(target, "to"));
      return audit_lines(audit, from, to);
    };
  }
  return out;
}

}  // namespace tidemark::agent
