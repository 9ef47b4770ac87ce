// The log of a container as files: PATH, and what was there before as PATH.1 (the newest of those) and on. A disk that
// takes nothing never stops a container: what does not get through is counted, and a line says so once it does again.
//
// Neither does a log take the last of a disk: to stop its writer has to be written down there too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"

namespace tidemark::runtime {

struct LogFileOptions {
  std::string path;
  std::int64_t bytes_max = std::int64_t{10} << 20;  // of one file
  int files_max = 5;                                // with the one that is written
  // Left to others: so much of the disk, and no more than so many bytes.
  std::int64_t left_percent = 5;
  std::int64_t left_bytes_max = std::int64_t{1} << 30;
};

class LogFile {
 public:
  explicit LogFile(LogFileOptions options) : options_(std::move(options)) {}

  // Whole lines, each with its newline.
  void write(std::string_view lines, base::WallTime now);

  std::int64_t lost() const { return lost_; }  // lines that are not told of yet

 private:
  bool open();
  bool has_room() const;
  void move_away();
  bool append(std::string_view bytes);

  LogFileOptions options_;
  Fd file_;
  std::int64_t size_ = 0;
  std::int64_t lost_ = 0;
};

}  // namespace tidemark::runtime
