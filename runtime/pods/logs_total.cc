#include "runtime/pods/logs_total.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace tidemark::runtime {
namespace {

namespace fs = std::filesystem;

bool is_moved_away(std::string_view path) {
  return path.substr(path.rfind('/') + 1).contains(".log.");
}

}  // namespace

std::vector<std::string> logs_beyond(std::vector<LogOnDisk> files, std::int64_t bytes_max) {
  std::int64_t left = bytes_max;  // below 0: so much is too much
  for (const LogOnDisk& each : files) {
    if (__builtin_sub_overflow(left, each.bytes, &left)) left = INT64_MIN;
  }
  std::erase_if(files, [](const LogOnDisk& each) { return !each.ended && !is_moved_away(each.path); });
  std::ranges::sort(files, {}, [](const LogOnDisk& each) { return std::tuple(!each.ended, each.written, each.path); });
  std::vector<std::string> out;
  for (LogOnDisk& each : files) {
    if (left >= 0) break;
    left += each.bytes;
    out.push_back(std::move(each.path));
  }
  return out;
}

std::size_t keep_logs_within(const std::string& dir, std::int64_t bytes_max,
                             const std::function<bool(const std::string& uid)>& has_ended) {
  std::vector<LogOnDisk> files;
  std::error_code error;
  for (fs::directory_iterator pod(dir, error), end; !error && pod != end; pod.increment(error)) {
    const std::string name = pod->path().filename();
    const bool ended = has_ended(name.substr(name.rfind('_') + 1));
    std::error_code vanished;  // what goes meanwhile is no trouble
    for (fs::recursive_directory_iterator at(pod->path(), vanished), last; !vanished && at != last;
         at.increment(vanished)) {
      std::error_code unknown;
      if (!at->is_regular_file(unknown) || !at->path().filename().string().contains(".log")) continue;
      const auto bytes = at->file_size(unknown);
      const std::int64_t written = at->last_write_time(unknown).time_since_epoch().count();
      if (!unknown) files.push_back({at->path().string(), static_cast<std::int64_t>(bytes), written, ended});
    }
  }
  std::size_t gone = 0;
  for (const std::string& each : logs_beyond(std::move(files), bytes_max)) {
    if (fs::remove(each, error)) ++gone;
  }
  return gone;
}

}  // namespace tidemark::runtime
