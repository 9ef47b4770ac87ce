#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "kube/config.h"

namespace tidemark::kube {
namespace {

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  // Not by its size: a kubeconfig may be a pipe.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    const int why = errno;
    if (why == ENOENT || why == ENOTDIR) return base::fail(ErrorKind::kNotFound, path, ": no such file");
    return base::fail_errno(why, base::cat("open ", path));
  }
  std::string out;
  char piece[16 * 1024];
  while (true) {
    const ssize_t count = ::read(file.get(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail_errno(errno, base::cat("read ", path));
    if (count == 0) return out;
    out.append(piece, static_cast<std::size_t>(count));
    if (out.size() > bytes_max) return base::fail(ErrorKind::kExhausted, path, ": more than ", bytes_max, " bytes");
  }
}

std::optional<FileStamp> stamp_file(const std::string& path) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  constexpr std::int64_t kNanos = 1'000'000'000;
  return FileStamp{static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino),
                   found.st_mtim.tv_sec * kNanos + found.st_mtim.tv_nsec, found.st_size};
}

}  // namespace

Files system_files() {
  return {read_file, stamp_file};
}

}  // namespace tidemark::kube
