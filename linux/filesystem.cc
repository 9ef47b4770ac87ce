#include "linux/filesystem.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace tidemark::linux {
namespace {

constexpr std::uint64_t kBlockBytes = 512;  // of st_blocks, for every filesystem
constexpr std::size_t kTreeDepthMax = 64;   // a descriptor each
constexpr std::size_t kLookAtTimeEach = 64;

std::int64_t amount(std::uint64_t count, std::uint64_t unit) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(count > kMost / unit ? kMost : count * unit);
}

// Folders that are open, the deepest last.
class Walk {
 public:
  Walk(std::uint64_t device, const FolderLimits& limits)
      : device_(device), limits_(limits), end_(std::chrono::steady_clock::now() + limits.time) {}

  FolderSpace take(int directory) {
    const auto root = about(directory, "", AT_EMPTY_PATH);
    if (!root || !lies_here(*root)) return out_;  // all of it lies elsewhere
    count(*root);
    enter(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (!open_.empty()) {
      errno = 0;
      const dirent* entry = ::readdir(open_.back().get());
      if (entry == nullptr) {
        if (errno != 0 && errno != ENOENT) out_.whole = false;  // a disk that is failing, not the end
        open_.pop_back();
      } else if (const std::string_view name = entry->d_name; name != "." && name != ".." && !look_at(entry->d_name)) {
        out_.whole = false;
        break;
      }
    }
    return out_;
  }

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };

  // False: that is enough.
  bool look_at(const char* name) {
    if (++entries_ > limits_.entries) return false;
    if (entries_ % kLookAtTimeEach == 0 && std::chrono::steady_clock::now() >= end_) return false;
    const int folder = ::dirfd(open_.back().get());
    const auto found = about(folder, name, AT_SYMLINK_NOFOLLOW);
    if (!found) {
      if (errno != ENOENT) out_.whole = false;  // else it went meanwhile
      return true;
    }
    if (!lies_here(*found)) return true;
    count(*found);
    if (!S_ISDIR(found->stx_mode)) return true;
    if (open_.size() == kTreeDepthMax) {
      out_.whole = false;
    } else {
      enter(::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    }
    return true;
  }

  // Reads only the kernel's data: it never contacts a mounted filesystem, so one that hangs (of a server or of a
  // process in the pod) does not block.
  std::optional<struct statx> about(int folder, const char* name, int flags) const {
    struct statx found{};
    constexpr unsigned kWanted = STATX_TYPE | STATX_NLINK | STATX_BLOCKS;
    if (::statx(folder, name, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, kWanted, &found) != 0) return {};
    return found;
  }
  bool lies_here(const struct statx& found) const {
    return makedev(found.stx_dev_major, found.stx_dev_minor) == device_;
  }

  void count(const struct statx& found) {
    const auto names = S_ISDIR(found.stx_mode) ? 1 : std::max<std::int64_t>(found.stx_nlink, 1);
    out_.bytes += amount(found.stx_blocks, kBlockBytes) / names;
    ++out_.inodes;
  }

  void enter(int fd) {
    if (fd < 0) {
      if (errno != ENOENT) out_.whole = false;
      return;
    }
    if (DIR* stream = ::fdopendir(fd)) {
      open_.emplace_back(stream);
    } else {
      ::close(fd);
      out_.whole = false;
    }
  }

  const std::uint64_t device_;
  const FolderLimits limits_;
  const std::chrono::steady_clock::time_point end_;
  FolderSpace out_;
  std::vector<std::unique_ptr<DIR, Close>> open_;
  std::size_t entries_ = 0;
};

}  // namespace

Result<std::optional<FilesystemSpace>> filesystem_space(const std::string& path) {
  struct statvfs about{};
  struct stat found{};
  if (::statvfs(path.c_str(), &about) != 0 || ::stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return base::fail_errno(errno, base::cat("ask for the filesystem of ", path));
  }
  const std::uint64_t unit = std::max<std::uint64_t>(about.f_frsize, 1);
  return FilesystemSpace{found.st_dev, amount(about.f_blocks, unit), amount(about.f_bavail, unit),
                         amount(about.f_files, 1), amount(about.f_favail, 1)};
}

FolderSpace folder_space(int directory, std::uint64_t device, const FolderLimits& limits) {
  return Walk(device, limits).take(directory);
}

}  // namespace tidemark::linux
