// What each eviction cost: one line in STATE_DIR/losses.jsonl when the task has ended, for people, and for whoever sums
// evictions up by class and day. Bounded as an audit is (journal/audit_file.h): what is older is in losses.jsonl.1 and
// on, and goes.
//
//   {"schema":1,"time":"2026-11-22T20:00:00Z","source":"kubernetes","cluster":"","job":"jobs/Job/crunch","attempt":"",
//    "task":"UID","user":"ada","business":"ads","class":"spark","namespace":"jobs","name":"crunch-0",
//    "feature":"BEMemoryEvict","reason":"TM-EVICT-001","ended":"TM-EVICT-015","age_s":5400,"cpu_milli":1900,
//    "memory_bytes":2147483648,"lost_core_seconds":10260,"ending_ms":2350}
//
// What was not measured is null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "journal/backlog.h"
#include "model/resources.h"
#include "model/task.h"
#include "net/loop.h"

namespace tidemark::agent {

inline constexpr std::int64_t kLossSchema = 1;
inline constexpr std::int64_t kLossBytesMax = std::int64_t{4} << 20;    // of all files together
inline constexpr std::size_t kLossWaitingMax = std::size_t{256} << 10;  // bytes that wait for the disk
inline constexpr std::size_t kLossLineMax = std::size_t{32} << 10;      // bytes of a line that is read

struct Loss {
  base::WallTime time;  // when it had ended
  model::TaskIdentity task;
  std::string ns, name;
  std::string feature;  // of the agent: "BEMemoryEvict"
  std::string reason;   // ids: why it went, and
  std::string ended;    // how: asked, killed …
  base::Duration age{0};
  // In use when it was asked; nullopt: not measured.
  std::optional<model::CpuMilli> cpu;
  std::optional<model::MemoryBytes> memory;
  std::int64_t lost_core_seconds = 0;
  base::Duration ending{0};  // from when it was asked until it had ended
  bool operator==(const Loss&) const = default;
};

std::string to_line(const Loss& loss);  // without a newline
// kUnsupported: of another schema. Keys that it does not know are passed over.
Result<Loss> parse_loss(std::string_view line);

struct Losses {
  std::vector<Loss> losses;  // the oldest first
  std::size_t broken = 0;    // lines that cannot be read
  std::uint64_t lost = 0;    // that could not be kept, as the ledger says itself
};
Losses parse_losses(std::string_view text);  // total
// All files of the folder. Waits for the disk: for a worker, or a command.
Result<Losses> read_losses(const std::string& state_dir);

// add() returns at once, a thread of its own writes.
class LossLedger {
 public:
  // The folder is there already; "": nothing is kept.
  LossLedger(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, const std::string& state_dir);

  void add(const Loss& loss);
  // True once all that was added is written or given up; false when the time ran out.
  net::Task<bool> drain(base::Duration limit);

 private:
  std::unique_ptr<journal::Backlog> backlog_;
};

}  // namespace tidemark::agent
