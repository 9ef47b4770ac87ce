// The audit of a process as a file of lines (model/audit_line.h), for people and log collectors. add() returns at once;
// a worker's thread writes. A disk error never blocks the caller: lost lines are counted, logged once, and noted in a
// line of the file once it can be written again.
//
//   PATH          appended to; several processes may
//   PATH.1 … .3   older lines, the newest is 1
//
// Each file stays below a quarter of `bytes_max`, and all together below `bytes_max`: if older files exceed a reduced
// limit, the oldest are deleted. If another program moves the file away, a new one is created.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_writer.h"
#include "base/log.h"
#include "base/metrics.h"
#include "journal/backlog.h"
#include "net/loop.h"

namespace tidemark::journal {

inline constexpr int kAuditOldFiles = 3;
inline constexpr std::int64_t kAuditBytesMin = std::int64_t{1} << 20;  // of all files together
inline constexpr std::size_t kAuditWaitingMax = std::size_t{4} << 20;  // bytes that wait for the disk
inline constexpr std::string_view kAuditNone = "none";                 // in place of a path: no audit is kept
inline constexpr std::string_view kAuditOutput = "-";                  // standard output, which is not rotated

// Whether the words name a file that can be read again.
inline bool is_file(std::string_view path) {
  return !path.empty() && path != kAuditNone && path != kAuditOutput;
}

struct AuditFileOptions {
  std::string path;  // or one of the words above; "" is kAuditNone
  std::int64_t bytes_max = std::int64_t{64} << 20;
};

// Appends lines (without their newlines) to the file; blocks on the disk: for a worker's thread. A file has only whole
// lines.
Appended append_audit(const AuditFileOptions& options, const std::vector<Entry>& lines);

// Such a file with its own writer thread, started: `waiting_max` bytes may wait for the disk.
struct KeptLines {
  AuditFileOptions file;
  std::size_t waiting_max = 0;
  std::string_view trouble;  // for the log: what is not done during a disk error
  std::string_view over;     // and when it is over
  base::Counter& kept;
  base::Counter& lost;
  std::function<std::string(std::uint64_t lines)> lost_line;  // that stands where so many are missing
};
std::unique_ptr<Backlog> keep_lines(net::EventLoop& loop, const base::Log& log, KeptLines options);

class AuditFile {
 public:
  // Null where none is kept.
  static std::unique_ptr<AuditFile> make(net::EventLoop& loop, const base::Log& log, base::Registry& metrics,
                                         AuditFileOptions options);
  AuditFile(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, AuditFileOptions options);

  void add(std::string line);  // without its newline
  // True once all that was added is written or given up; false when the time ran out.
  net::Task<bool> drain(base::Duration limit);
  // The same after the loop has stopped and the last lines were added: runs the loop for it.
  void finish(base::Duration limit);

 private:
  net::EventLoop& loop_;
  base::Counter& kept_;
  base::Counter& lost_;
  std::unique_ptr<base::LineWriter> output_;  // of standard output
  std::unique_ptr<Backlog> backlog_;          // of a file
};

}  // namespace tidemark::journal
