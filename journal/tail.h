// Reads files of lines (journal/audit_file.h) on from the last position, across restarts and rotations: for senders of
// lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tidemark::journal {

// The position up to which a file was read. The inode identifies the file after a rename; an inode may be reused by a
// new file, which begins differently.
struct TailPlace {
  std::uint64_t device = 0, inode = 0;  // 0: there was no file yet; its beginning is meant
  std::uint64_t head = 0;               // hash of its first line; 0: it had none
  std::int64_t offset = 0;
  bool operator==(const TailPlace&) const = default;
};

struct TailPiece {
  std::string lines;        // whole ones, each with its newline
  TailPlace next;           // behind them
  std::int64_t behind = 0;  // bytes that are there beyond them
  bool skipped = false;     // something between is gone, or was no line that fits
};

// At most `bytes_max` bytes. Waits for the disk: for a worker.
Result<TailPiece> read_on(const std::string& path, const TailPlace& place, std::size_t bytes_max);

// Where all is read that is there now.
Result<TailPlace> end_of(const std::string& path);

}  // namespace tidemark::journal
