#include "cli/local/held_back.h"

#include <string_view>
#include <utility>

#include "agent/record/recorder.h"
#include "base/text.h"
#include "cli/local/file_tail.h"

namespace tidemark::cli {
namespace {

constexpr base::Duration kTooOld = agent::kRecordEvery * 3;
constexpr double kAllUsedFrom = 0.95;    // of what offline work may use: what measures both is no more exact
constexpr std::int64_t kRunsMilli = 50;  // one that takes less wants no more, whatever the others take

std::string percent(std::int64_t permille) {
  return base::cat(permille / 10, " %");
}

// The quota of all offline work is on the group above them: no task's own group tells that it held one.
bool all_is_used(const model::NodeRecord& record) {
  const auto used = record.offline_milli, limit = record.offline_limit_milli;
  return used && limit && static_cast<double>(*used) >= static_cast<double>(*limit) * kAllUsedFrom;
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
  const bool all_used = all_is_used(record);
  for (const model::TaskRecord& task : record.tasks) {
    if (!task.offline || task.ended) continue;
    std::string why;
    if (task.throttled_permille >= kHeldFrom)
      why = base::cat("held to a quota ", percent(task.throttled_permille), " of the time");
    if (task.cpu_pressure >= kHeldFrom) {
      why += base::cat(why.empty() ? "" : ", ", "waited for processors ", percent(task.cpu_pressure), " of the time");
    }
    const bool shares_all = all_used && task.cpu_milli >= kRunsMilli;
    if (why.empty() && !shares_all) continue;
    if (why.empty()) {
      why = base::cat("offline work uses all of the ", cores_text(*record.offline_limit_milli), " of ", record.cpus,
                      " cores that it has");
    } else if (record.offline_limit_milli) {
      why += base::cat("; offline work has ", cores_text(*record.offline_limit_milli), " of ", record.cpus, " cores");
    }
    out[task.task] = std::move(why);
  }
  return out;
}

}  // namespace tidemark::cli
