// Writes lines to a file descriptor that may block (a pipe without a reader, a stopped terminal) without blocking the
// caller: a thread of its own writes a bounded queue. Lines that do not fit or cannot be written are dropped and
// counted; a line in their place gives the number.
//
// Lines go out in order, and whole as long as they are no longer than a pipe takes at once (4096 bytes).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/metrics.h"

namespace tidemark::base {

class LineWriter {
 public:
  struct Limits {
    std::size_t queue_bytes = 1 << 20;         // not yet written; what comes on top is dropped
    Duration flush = std::chrono::seconds(2);  // longest wait of the destructor
  };
  static constexpr Duration kFatalLimit = std::chrono::seconds(1);  // the same where the program is broken

  // Makes the line with the number of lost lines; called by any thread, and must not write here.
  using Notice = std::function<std::string(std::uint64_t lines)>;

  // `dropped` lives longer than the writer. The descriptor stays the caller's.
  LineWriter(int fd, Notice notice, Counter& dropped, Limits limits);
  // Waits for what is queued, then lets go of it.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  void write(std::string_view line);  // with its newline; from any thread
  bool flush(Duration limit);         // whether nothing waits any more

  // Of every writer of the process, without a lock or an allocation: for the last moments of a broken program.
  static bool wait_until_written(Duration limit);

 private:
  struct Shared;
  const Limits limits_;
  std::shared_ptr<Shared> shared_;
};

// Writes `text` now, on this thread, if the descriptor takes it within `limit`; returns whether all was written.
bool write_within(int fd, std::string_view text, Duration limit);

}  // namespace tidemark::base
