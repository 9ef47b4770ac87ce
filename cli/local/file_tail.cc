#include "cli/local/file_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "base/fd.h"

namespace tidemark::cli {

void read_tail(const std::string& path, FileTail& tail) {
  tail.lines.clear();
  tail.bytes.clear();
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0) return;
  const off_t from = std::max<off_t>(found.st_size - kFileTail, 0);
  tail.bytes.resize(static_cast<std::size_t>(found.st_size - from));
  const ssize_t count = ::pread(file.get(), tail.bytes.data(), tail.bytes.size(), from);
  tail.bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  std::string_view left(tail.bytes);
  // One that is being written has no end yet.
  left = left.substr(0, left.rfind('\n') + 1);
  while (!left.empty()) {
    left.remove_suffix(1);
    const auto begin = left.rfind('\n');
    if (begin == std::string_view::npos) {
      if (from == 0) tail.lines.push_back(left);  // else its beginning is not here
      return;
    }
    tail.lines.push_back(left.substr(begin + 1));
    left = left.substr(0, begin + 1);
  }
}

}  // namespace tidemark::cli
