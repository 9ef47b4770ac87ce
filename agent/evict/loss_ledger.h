// The cost of each eviction: one line in STATE_DIR/losses.jsonl when the task has ended, for people and for sums by
// class and day. Bounded like an audit (journal/audit_file.h): older lines move to losses.jsonl.1 and on, then are
// removed.
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

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "journal/backlog.h"
#include "model/resources.h"
#include "model/task.h"
#include "net/loop.h"

namespace tidemark::agent {

inline constexpr std::int64_t kLossSchema = 1;
inline constexpr std::int64_t kLossBytesMax = std::int64_t{4} << 20;    // of all files together
inline constexpr std::size_t kLossWaitingMax = std::size_t{256} << 10;  // bytes that wait for the disk

struct Loss {
  base::WallTime time;  // when it had ended
  model::TaskIdentity task;
  std::string ns, name;
  std::string feature;  // of the agent: "BEMemoryEvict"
  std::string reason;   // ids: why it was evicted, and
  std::string ended;    // how it ended: asked, killed …
  base::Duration age{0};
  // In use when it was asked; nullopt: not measured.
  std::optional<model::CpuMilli> cpu;
  std::optional<model::MemoryBytes> memory;
  std::int64_t lost_core_seconds = 0;
  base::Duration ending{0};  // from the request until the end
};

std::string to_line(const Loss& loss);  // without a newline

class LossLedger {
 public:
  // The folder exists; "": nothing is kept.
  LossLedger(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, const std::string& state_dir);

  void add(const Loss& loss);
  // True once all added losses are written or given up; false on timeout.
  net::Task<bool> drain(base::Duration limit);

 private:
  std::unique_ptr<journal::Backlog> backlog_;
};

}  // namespace tidemark::agent
