#include "cli/local/held_back.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "agent/record/recorder.h"
#include "base/fd.h"
#include "base/text.h"

namespace tidemark::cli {
namespace {

constexpr std::int64_t kTail = std::int64_t{1} << 20;  // bytes at the end of the record that are looked at
constexpr base::Duration kTooOld = agent::kRecordEvery * 3;

std::string tail_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0) return "";
  const off_t from = std::max<off_t>(found.st_size - kTail, 0);
  std::string out(static_cast<std::size_t>(found.st_size - from), '\0');
  const ssize_t count = ::pread(file.get(), out.data(), out.size(), from);
  out.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return out;
}

std::string percent(std::int64_t permille) {
  return base::cat(permille / 10, " %");
}

}  // namespace

std::optional<model::NodeRecord> last_record(const std::string& data_dir, base::WallTime now) {
  const std::string tail = tail_of(base::cat(data_dir, "/agent/", agent::kRecordFile));
  std::string_view left(tail);
  while (!left.empty()) {
    if (left.back() == '\n') left.remove_suffix(1);
    const auto begin = left.rfind('\n');
    const std::string_view line = begin == std::string_view::npos ? left : left.substr(begin + 1);
    auto read = model::parse_node_record(line);
    if (read && read->lost == 0) {
      if (now - read->record.time > kTooOld) return std::nullopt;
      return std::move(read->record);
    }
    left = begin == std::string_view::npos ? std::string_view() : left.substr(0, begin + 1);
  }
  return std::nullopt;
}

HeldBack held_back(const model::NodeRecord& record) {
  HeldBack out;
  for (const model::TaskRecord& task : record.tasks) {
    if (!task.offline || task.ended) continue;
    std::string why;
    if (task.throttled_permille >= kHeldFrom)
      why = base::cat("held to a quota ", percent(task.throttled_permille), " of the time");
    if (task.cpu_pressure >= kHeldFrom) {
      why += base::cat(why.empty() ? "" : ", ", "waited for processors ", percent(task.cpu_pressure), " of the time");
    }
    if (why.empty()) continue;
    if (record.offline_limit_milli) {
      why += base::cat("; offline work has ", cores_text(*record.offline_limit_milli), " of ", record.cpus, " cores");
    }
    out[task.task] = std::move(why);
  }
  return out;
}

}  // namespace tidemark::cli
