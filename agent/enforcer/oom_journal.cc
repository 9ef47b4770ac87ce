#include "agent/enforcer/oom_journal.h"

#include <limits>
#include <optional>
#include <utility>

#include "agent/enforcer/found_journal.h"
#include "base/json.h"
#include "base/text.h"
#include "journal/whole_file.h"

namespace tidemark::agent {
namespace {

constexpr std::string_view kName = "oom_scores.journal";
constexpr std::size_t kBytesMax = std::size_t{128} << 20;  // kOomProcessesMax with the longest paths

std::string path_in(const std::string& folder) {
  return base::cat(folder, "/", kName);
}

std::optional<std::int64_t> number(const Json& line, std::string_view name) {
  const Json* member = line.member(name);
  return member != nullptr && member->is_int() ? std::optional(member->as_int()) : std::nullopt;
}

void take_line(const Json& line, OomEntries& entries) {
  const auto pid = number(line, "pid"), start = number(line, "start");
  const auto found = number(line, "found"), wrote = number(line, "wrote");
  if (!pid || *pid <= 0 || *pid > std::numeric_limits<pid_t>::max() || !start || !found || !wrote) return;
  if (entries.size() >= kOomProcessesMax) return;
  entries[static_cast<pid_t>(*pid)] = {*start, std::string(line.text_at("group")), *found, *wrote,
                                       number(line, "before")};
}

}  // namespace

std::string oom_journal_text(const OomEntries& entries, std::string_view boot_id) {
  std::string out;
  base::JsonWriter(out).begin_object().member("schema", kOomSchema).member("boot", boot_id).end_object();
  out += "\n";
  for (const auto& [pid, entry] : entries) {
    base::JsonWriter json(out);
    json.begin_object()
        .member("pid", std::int64_t{pid})
        .member("start", entry.start_ticks)
        .member("group", entry.group)
        .member("found", entry.found)
        .member("wrote", entry.wrote);
    if (entry.wrote_before) json.member("before", *entry.wrote_before);
    json.end_object();
    out += "\n";
  }
  return out;
}

Result<OomEntries> parse_oom_journal(std::string_view text, std::string_view boot_id) {
  OomEntries out;
  bool first = true;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const auto line = Json::parse(text.substr(0, end));
    if (!std::exchange(first, false)) {
      if (line) take_line(*line, out);
      continue;
    }
    const auto schema = line ? number(*line, "schema") : std::nullopt;
    if (!schema) return fail(ErrorKind::kInvalid, "line 1: schema is not set");
    if (*schema > kOomSchema) {
      return fail(ErrorKind::kUnsupported, "schema ", *schema, " is of a newer version than this program");
    }
    if (line->text_at("boot") != boot_id) return out;  // the machine rebooted since: its processes are gone
  }
  return out;
}

Result<OomEntries> read_oom_journal(const std::string& folder, std::string_view boot_id) {
  TM_TRY_VOID(needs_boot_id(boot_id));
  TM_TRY(const auto text, journal::read_whole(path_in(folder), kBytesMax));
  if (!text) return OomEntries();
  auto entries = parse_oom_journal(*text, boot_id);
  if (!entries) return fail(std::move(entries).error().within(path_in(folder)));
  return entries;
}

Result<void> write_oom_journal(const std::string& folder, const OomEntries& entries, std::string_view boot_id) {
  TM_TRY_VOID(journal::write_whole(path_in(folder), oom_journal_text(entries, boot_id)));
  return {};
}

}  // namespace tidemark::agent
