#include "linux/proc/process.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

// "1234/schedstat", put together without allocating.
class ProcessFile {
 public:
  ProcessFile(pid_t pid, std::string_view name) {
    char* at = std::to_chars(path_.data(), path_.data() + kDigits, pid).ptr;
    *at++ = '/';
    std::memcpy(at, name.data(), name.size());
    at[name.size()] = '\0';
  }
  const char* path() const { return path_.data(); }

 private:
  static constexpr std::size_t kDigits = 12;
  std::array<char, kDigits + 32> path_;  // names of ours are shorter than 30
};

template <class Parse>
auto read_of(const Folder& proc, pid_t pid, std::string_view name, Buffer& buffer, Parse parse)
    -> Result<std::optional<typename decltype(parse(std::string_view()))::value_type>> {
  const ProcessFile file(pid, name);
  const auto text = proc.read(file.path(), buffer);
  if (!text) return fail(text.error());
  if (!*text) return std::nullopt;
  auto value = parse(**text);
  if (!value) return fail(std::move(value).error().within(base::cat(proc.path(), "/", file.path())));
  return std::move(*value);
}

}  // namespace

Result<RunQueue> parse_schedstat(std::string_view text) {
  RunQueue out;
  Words words(without_line_end(text));
  std::string_view word;
  for (std::int64_t* wanted : {&out.ran_ns, &out.waited_ns, &out.times_run}) {
    const auto value = words.next(word) ? parse_count(word) : std::nullopt;
    if (!value) return fail(ErrorKind::kInvalid, "three numbers are wanted, found ", base::in_quotes(text));
    *wanted = *value;
  }
  if (words.next(word)) return fail(ErrorKind::kInvalid, "three numbers are wanted, found ", base::in_quotes(text));
  return out;
}

Result<std::optional<RunQueue>> read_schedstat(const Folder& proc, pid_t pid, Buffer& buffer) {
  return read_of(proc, pid, "schedstat", buffer, parse_schedstat);
}

Result<std::int64_t> parse_start_ticks(std::string_view stat) {
  // The name in brackets may hold anything, blanks and brackets too: the fields begin behind the last bracket.
  constexpr int kStartTimeField = 22, kFirstBehindName = 3;
  const std::size_t bracket = stat.rfind(')');
  if (bracket != std::string_view::npos) {
    Words words(without_line_end(stat.substr(bracket + 1)));
    std::string_view word;
    bool there = true;
    for (int field = kFirstBehindName; field <= kStartTimeField && there; ++field) there = words.next(word);
    if (const auto value = there ? parse_count(word) : std::nullopt) return *value;
  }
  return fail(ErrorKind::kInvalid, "the fields of a process are wanted, found ", base::in_quotes(stat));
}

Result<std::optional<std::int64_t>> read_start_ticks(const Folder& proc, pid_t pid, Buffer& buffer) {
  return read_of(proc, pid, "stat", buffer, parse_start_ticks);
}

// "State:\tS (sleeping)", "NSpid:\t4711\t1" (a number for each namespace, this one's first; kernels since 4.1),
// "Uid:\t0\t0\t0\t0" (real, effective, saved, of files).
Result<ProcessOwner> parse_process_owner(std::string_view status) {
  ProcessOwner out;
  std::optional<std::int64_t> uid;
  Lines lines(status);
  for (std::string_view line; lines.next(line);) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    Words words(line.substr(std::min(colon + 1, line.size())));
    std::string_view first, second;
    if (!words.next(first)) continue;
    const bool two = words.next(second);
    const std::string_view key = line.substr(0, colon);
    if (key == "State") out.ended = first == "Z" || first == "X";
    if (key == "NSpid") out.nested = two;
    if (key == "Uid" && two) uid = parse_count(second);
  }
  if (!uid) return fail(ErrorKind::kInvalid, "the status of a process is wanted, found ", base::in_quotes(status));
  out.uid = *uid;
  return out;
}

Result<std::optional<ProcessOwner>> read_process_owner(const Folder& proc, pid_t pid, Buffer& buffer) {
  return read_of(proc, pid, "status", buffer, parse_process_owner);
}

// "SigIgn:\t0000000000001000", "SigCgt:\t0000000180014a07": a bit for each signal, the first for signal 1.
Result<bool> parse_handles(std::string_view status, int signal) {
  constexpr std::string_view kIgnored = "SigIgn:\t", kCaught = "SigCgt:\t";
  std::uint64_t handled = 0;
  int found = 0;
  Lines lines(status);
  for (std::string_view line; lines.next(line);) {
    if (!line.starts_with(kIgnored) && !line.starts_with(kCaught)) continue;
    const std::string_view digits = line.substr(kIgnored.size());
    std::uint64_t mask = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) continue;
    handled |= mask;
    ++found;
  }
  if (found != 2)
    return fail(ErrorKind::kInvalid, "the signals of a process are wanted, found ", base::in_quotes(status));
  return (handled >> (signal - 1) & 1U) != 0;
}

Result<std::optional<bool>> read_handles(const Folder& proc, pid_t pid, int signal, Buffer& buffer) {
  return read_of(proc, pid, "status", buffer, [&](std::string_view text) { return parse_handles(text, signal); });
}

Result<std::vector<pid_t>> find_named(const Folder& proc, std::string_view name, Buffer& buffer) {
  constexpr std::size_t kNameBytes = 15;
  std::vector<std::string> folders;
  TM_TRY([[maybe_unused]] const bool there, list_folders(proc.fd(), folders, {proc.path(), {}, {}}));
  std::optional<std::int64_t> self;
  if (const auto stat = proc.read("self/stat", buffer); stat && *stat) {
    self = parse_count((*stat)->substr(0, (*stat)->find(' ')));
  }
  std::vector<pid_t> out;
  for (const std::string& folder : folders) {
    const auto pid = parse_count(folder);
    if (!pid || *pid > std::numeric_limits<pid_t>::max() || pid == self) continue;
    const auto comm = proc.read(ProcessFile(static_cast<pid_t>(*pid), "comm").path(), buffer);
    if (!comm) return fail(comm.error());
    if (*comm && without_line_end(**comm) == name.substr(0, kNameBytes)) out.push_back(static_cast<pid_t>(*pid));
  }
  return out;
}

}  // namespace tidemark::linux
