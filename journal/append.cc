#include "journal/append.h"

#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace tidemark::journal {

Result<void> append_whole(int fd, std::string_view bytes, std::int64_t size_before, const std::string& path) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      auto error = base::fail_errno(count < 0 ? errno : ENOSPC, base::cat("write ", path));
      if (::ftruncate(fd, size_before) != 0) error.error().message += "; a part is left";
      return error;
    }
    written += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace tidemark::journal
