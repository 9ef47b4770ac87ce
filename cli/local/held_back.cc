#include "cli/local/held_back.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/record/recorder.h"
#include "base/text.h"
#include "cli/local/file_tail.h"

namespace tidemark::cli {
namespace {

constexpr base::Duration kTooOld = agent::kRecordEvery * 3;
constexpr double kAllUsedFrom = 0.95;  // of what may be used: what measures both is no more exact
constexpr std::int64_t kMilliPerCore = 1000;
constexpr std::int64_t kRunsMilli = 50;  // one that takes less wants no more, whatever the others take

std::string percent(std::int64_t permille) {
  return base::cat(permille / 10, " %");
}

bool is_all_of(std::int64_t used, std::int64_t milli) {
  return static_cast<double>(used) >= static_cast<double>(milli) * kAllUsedFrom;
}

// The common reason why running tasks get no more CPU; "" if none is known. The cgroup of a task does not show it: the
// quota is on the cgroup above all tasks, and without one (`cpuSuppressPolicy: idle`) they get what other work leaves.
// If only offline work runs on the machine it limits itself, which is not reported.
std::string shared_out(const model::NodeRecord& record) {
  if (!record.offline_milli) return "";
  const std::int64_t used = *record.offline_milli, all = record.cpus * kMilliPerCore;
  if (const auto limit = record.offline_limit_milli) {
    if (!is_all_of(used, *limit)) return "";
    return base::cat("offline work uses all of the ", cores_text(*limit), " of ", record.cpus, " cores that it has");
  }
  if (!record.cpu_milli || !is_all_of(*record.cpu_milli, all) || is_all_of(used, all)) return "";
  return base::cat("all ", record.cpus, " cores are in use, ",
                   cores_text(std::max<std::int64_t>(*record.cpu_milli - used, 0)), " of them not by offline work");
}

}  // namespace

std::optional<model::NodeRecord> last_record(const std::string& data_dir, base::WallTime now) {
  FileTail tail;
  read_tail(base::cat(data_dir, "/agent/", agent::kRecordFile), tail);
  for (const std::string_view line : tail.lines) {
    auto read = model::parse_node_record(line);
    if (!read || read->lost > 0) continue;
    if (now - read->record.time > kTooOld) return std::nullopt;
    return std::move(read->record);
  }
  return std::nullopt;
}

HeldBack held_back(const model::NodeRecord& record) {
  HeldBack out;
  const std::string shared = shared_out(record);
  for (const model::TaskRecord& task : record.tasks) {
    if (!task.offline || task.ended) continue;
    std::string why;
    if (task.throttled_permille >= kHeldFrom)
      why = base::cat("held to a quota ", percent(task.throttled_permille), " of the time");
    if (task.cpu_pressure >= kHeldFrom) {
      why += base::cat(why.empty() ? "" : ", ", "waited for processors ", percent(task.cpu_pressure), " of the time");
    }
    if (why.empty()) {
      if (shared.empty() || task.cpu_milli < kRunsMilli) continue;
      why = shared;
    } else if (record.offline_limit_milli) {
      why += base::cat("; offline work has ", cores_text(*record.offline_limit_milli), " of ", record.cpus, " cores");
    }
    out[task.task] = std::move(why);
  }
  return out;
}

}  // namespace tidemark::cli
