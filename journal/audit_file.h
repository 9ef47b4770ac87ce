// The audit of a process as a file of lines (model/audit_line.h), for people and for whatever takes logs off a machine.
// add() returns at once; a worker's thread does the writing. Trouble with the disk never stops whoever adds: what
// cannot be kept is counted, told in the log once, and by a line of its own once the file can be written again.
//
//   PATH          appended to; several processes may
//   PATH.1 … .3   what was there before, the newest is 1
//
// All together stay within `bytes_max`. A file that somebody else moves away is begun anew. `-` is standard output,
// which nobody rotates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/line_writer.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::journal {

inline constexpr int kAuditOldFiles = 3;
inline constexpr std::int64_t kAuditBytesMin = std::int64_t{1} << 20;  // of all files together
inline constexpr std::size_t kAuditWaitingMax = std::size_t{4} << 20;  // bytes that wait for the disk

struct AuditFileOptions {
  std::string path;
  std::int64_t bytes_max = std::int64_t{64} << 20;
};

// Appends to the file, which may wait for the disk: on a worker's thread. All lines or none that anybody could read.
Result<void> append_audit(const AuditFileOptions& options, const std::string& lines);

class AuditFile {
 public:
  AuditFile(net::EventLoop& loop, base::Log log, base::Registry& metrics, AuditFileOptions options);

  void add(std::string line);  // without its newline
  // True once all that was added is written or given up; false when the time ran out.
  net::Task<bool> drain(base::Duration limit);

 private:
  net::Task<void> run();
  void lost(std::uint64_t lines, const std::string& why);

  net::EventLoop& loop_;
  base::Log log_;
  AuditFileOptions options_;
  base::Counter& kept_;
  base::Counter& lost_;
  std::unique_ptr<base::LineWriter> stream_;  // of standard output
  std::string waiting_;
  std::uint64_t waiting_lines_ = 0;
  std::uint64_t lost_untold_ = 0;
  bool in_trouble_ = false;  // told in the log, until it is over
  bool busy_ = false;
  net::Event something_;
  net::Event idle_;
  net::WorkerPool worker_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::journal
