// Keeps the node's record: a line each half minute in STATE_DIR/record.jsonl, for `tidemark incident` and whoever asks
// later what was the matter. Bounded as an audit is (journal/audit_file.h): the oldest goes.
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

// As often as containers are read (sampler/readings.h): one line has one look at each of them.
inline constexpr base::Duration kRecordEvery = std::chrono::seconds(30);
inline constexpr int kRecordWholeEvery = 10;                            // lines; the first is whole, and the last
inline constexpr std::size_t kRecordWaitingMax = std::size_t{1} << 20;  // bytes that wait for the disk
inline constexpr std::string_view kRecordFile = "record.jsonl";

struct RecorderOptions {
  std::string node;
  std::string state_dir;  // there already; "": nothing is kept
  std::int64_t bytes_max = std::int64_t{64} << 20;
  std::function<void(const model::NodeRecord&)> on_line{};  // each, as it is written
};

class Recorder {
 public:
  Recorder(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, const RecorderOptions& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // After each pass of the sampler.
  void observe(const StretchInputs& inputs);
  void observe(const KernelEvent& event, const TaskSnapshot& tasks);
  // An orderly stop: what came together is written. True once it is, or was given up; false when the time ran out.
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
