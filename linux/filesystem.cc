#include "linux/filesystem.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/text.h"

namespace tidemark::linux {

Result<std::optional<std::int64_t>> filesystem_bytes(const std::string& path) {
  struct statvfs about{};
  if (::statvfs(path.c_str(), &about) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return base::fail_errno(errno, base::cat("ask for the filesystem of ", path));
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t unit = std::max<std::uint64_t>(about.f_frsize, 1), blocks = about.f_blocks;
  return static_cast<std::int64_t>(blocks > kMost / unit ? kMost : blocks * unit);
}

}  // namespace tidemark::linux
