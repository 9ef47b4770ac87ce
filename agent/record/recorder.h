// Keeps the node's record: a line each half minute in STATE_DIR/record.jsonl, for `tidemark incident`. Bounded like an
// audit (journal/audit_file.h): the oldest lines are removed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/record/stretch.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "journal/backlog.h"
#include "net/loop.h"

namespace tidemark::agent {

// As often as containers are read (sampler/readings.h): each line has one reading of each container.
inline constexpr base::Duration kRecordEvery = std::chrono::seconds(30);
inline constexpr int kRecordWholeEvery = 10;                            // lines; the first and the last one are whole
inline constexpr std::size_t kRecordWaitingMax = std::size_t{1} << 20;  // bytes waiting for the disk
inline constexpr std::string_view kRecordFile = "record.jsonl";

struct RecorderOptions {
  std::string node;
  std::string state_dir;  // an existing folder; "": nothing is kept
  std::int64_t bytes_max = std::int64_t{64} << 20;
  std::function<void(const model::NodeRecord&)> on_line{};  // gets each line as written
  LimitsOf limits_of{};
};

class Recorder {
 public:
  Recorder(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, const RecorderOptions& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Call after each pass of the sampler.
  void observe(const StretchInputs& inputs);
  void observe(const KernelEvent& event, const TaskSnapshot& tasks);
  // An orderly stop: writes the pending data. True once it is written or given up; false on timeout.
  net::Task<bool> drain(base::Duration limit);

 private:
  void write(bool whole);

  net::EventLoop& loop_;
  std::function<void(const model::NodeRecord&)> on_line_;
  Stretch stretch_;
  std::optional<base::MonotonicTime> began_;
  int lines_ = 0;
  std::unique_ptr<journal::Backlog> backlog_;  // null: nothing is kept
};

}  // namespace tidemark::agent
