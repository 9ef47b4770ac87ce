#include "linux/proc/oom_score.h"

#include <linux/capability.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "base/text.h"
#include "linux/proc/process.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr const char* kName = "oom_score_adj";
constexpr std::int64_t kLeast = -1000, kMost = 1000;

bool is_gone(int error) {
  return error == ESRCH || error == ENOENT;
}

}  // namespace

Result<std::int64_t> parse_oom_score_adj(std::string_view text) {
  const auto value = base::parse_int(without_line_end(text));
  if (!value || *value < kLeast || *value > kMost) {
    return fail(ErrorKind::kInvalid, "a number from -1000 to 1000 is wanted, found ", base::in_quotes(text));
  }
  return *value;
}

Result<std::optional<std::int64_t>> read_oom_score_adj(const Folder& proc, pid_t pid, Buffer& buffer) {
  std::array<char, 32> path{};
  char* at = std::to_chars(path.data(), path.data() + 12, pid).ptr;
  *at++ = '/';
  std::memcpy(at, kName, std::strlen(kName) + 1);
  TM_TRY(const auto text, proc.read(path.data(), buffer));
  if (!text) return std::nullopt;
  auto value = parse_oom_score_adj(*text);
  if (!value) return fail(std::move(value).error().within(base::cat(proc.path(), "/", path.data())));
  return *value;
}

Result<std::optional<HeldProcess>> HeldProcess::open(const Folder& proc, pid_t pid) {
  const std::string name = base::cat(pid);
  TM_TRY(auto folder, open_beneath(proc.fd(), name, {proc.path(), name, {}}));
  if (!folder) return std::nullopt;
  return HeldProcess(proc, pid, std::move(*folder));
}

Result<std::optional<std::string_view>> HeldProcess::read(const char* name, Buffer& buffer) const {
  const std::string number = base::cat(pid_);
  const Place place{proc_->path(), number, name};
  TM_TRY(const auto file, open_file(folder_.fd.get(), name, O_RDONLY, place));
  if (!file) return std::nullopt;
  return read_text(file->get(), buffer, place);
}

Result<std::optional<std::int64_t>> HeldProcess::start_ticks(Buffer& buffer) const {
  TM_TRY(const auto text, read("stat", buffer));
  if (!text) return std::nullopt;
  TM_TRY(const std::int64_t ticks, parse_start_ticks(*text));
  return ticks;
}

Result<std::optional<std::int64_t>> HeldProcess::oom_score_adj(Buffer& buffer) const {
  TM_TRY(const auto text, read(kName, buffer));
  if (!text) return std::nullopt;
  TM_TRY(const std::int64_t value, parse_oom_score_adj(*text));
  return value;
}

Result<bool> HeldProcess::set_oom_score_adj(std::int64_t value) const {
  const std::string number = base::cat(pid_);
  const Place place{proc_->path(), number, kName};
  TM_TRY(const auto file, open_file(folder_.fd.get(), kName, O_WRONLY | O_TRUNC, place));
  if (!file) return false;
  const std::string text = base::cat(value, "\n");
  if (::write(file->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return true;
  const int error = errno;
  if (is_gone(error)) return false;
  Error refused = base::fail_errno(error, base::cat("write ", value, " to ", place.text())).error();
  if (error == EACCES || error == EPERM) refused.kind = ErrorKind::kDenied;
  return fail(std::move(refused));
}

Result<bool> may_lower_oom_scores(const Folder& proc, Buffer& buffer) {
  constexpr std::string_view kEffective = "CapEff:";
  TM_TRY(const auto text, proc.read("self/status", buffer));
  if (!text) return fail(ErrorKind::kUnsupported, proc.path(), "/self/status is not there");
  Lines lines(*text);
  for (std::string_view line; lines.next(line);) {
    if (!line.starts_with(kEffective)) continue;
    const std::string_view word = base::trim(line.substr(kEffective.size()));
    std::uint64_t set = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), set, 16);
    if (error == std::errc() && end == word.data() + word.size()) return (set >> CAP_SYS_RESOURCE & 1) != 0;
  }
  return fail(ErrorKind::kInvalid, proc.path(), "/self/status says no capabilities");
}

}  // namespace tidemark::linux
