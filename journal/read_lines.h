// Reads files of lines (journal/audit_file.h) piece by piece: for commands, since it waits for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace tidemark::journal {

struct LinesRead {
  std::uint64_t files = 0;     // that were there
  std::uint64_t too_long = 0;  // lines beyond the length limit: skipped
};

// Each line without its newline; also a last one that has none.
using TakeLine = std::function<void(std::string_view)>;
Result<void> read_lines(int fd, const std::string& name, std::size_t line_max, const TakeLine& take, LinesRead& read);

// Of a file and those that it was before, the oldest first. All are opened before one is read: none is missed, or read
// twice, where the file is moved away meanwhile.
Result<LinesRead> read_kept_lines(const std::string& path, std::size_t line_max, const TakeLine& take);

}  // namespace tidemark::journal
