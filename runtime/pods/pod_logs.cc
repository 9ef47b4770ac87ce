#include "runtime/pods/pod_logs.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace tidemark::runtime {
namespace {

constexpr std::string_view kLog = ".log";

// The newer one is larger: a later attempt, and of one attempt what was moved away later.
using Age = std::pair<std::int64_t, std::int64_t>;
std::optional<Age> age_of(std::string_view name) {
  const auto at = name.find(kLog);
  if (at == std::string_view::npos) return std::nullopt;
  const auto attempt = base::parse_int(name.substr(0, at));
  std::string_view moved = name.substr(at + kLog.size());
  if (moved.empty()) return attempt ? std::optional(Age{*attempt, 0}) : std::nullopt;
  if (!moved.starts_with('.')) return std::nullopt;
  const auto number = base::parse_int(moved.substr(1));
  return attempt && number ? std::optional(Age{*attempt, -*number}) : std::nullopt;
}

}  // namespace

std::vector<std::string> logs_to_drop(std::vector<LogSeen> files, std::int64_t bytes_kept) {
  std::erase_if(files, [](const LogSeen& each) { return !age_of(each.name); });
  std::ranges::sort(files, std::ranges::greater(), [](const LogSeen& each) { return *age_of(each.name); });
  std::vector<std::string> out;
  std::int64_t left = bytes_kept;
  for (std::size_t i = 0; i < files.size(); ++i) {
    left = left < files[i].bytes ? -1 : left - files[i].bytes;  // what is older than one that goes goes too
    if (i > 0 && left < 0) out.push_back(std::move(files[i].name));
  }
  return out;
}

void keep_last_logs(const std::string& folder, std::int64_t bytes_kept) {
  std::vector<LogSeen> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    const auto bytes = at->file_size(unknown);
    if (!unknown) files.push_back({at->path().filename().string(), static_cast<std::int64_t>(bytes)});
  }
  for (const std::string& each : logs_to_drop(std::move(files), bytes_kept)) {
    std::filesystem::remove(base::cat(folder, "/", each), error);
  }
}

}  // namespace tidemark::runtime
