#include "journal/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "journal/append.h"

namespace tidemark::journal {
namespace {

constexpr std::size_t kPieceBytes = 16 * 1024;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

std::string beside(const std::string& path) {
  const auto slash = path.rfind('/');
  return base::cat(folder_of(path), ".", path.substr(slash == std::string::npos ? 0 : slash + 1), ".new");
}

Result<void> sync_folder(const std::string& folder) {
  const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return base::fail_errno(errno, base::cat("sync ", folder));
  return {};
}

// Existing content (reserved space, or a partial write) is overwritten first and truncated after: truncating first
// would free the space to other programs.
Result<Fd> fill(const std::string& path, std::string_view bytes, WholeFile how) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, how.mode));
  if (!fd) return base::fail_errno(errno, base::cat("open ", path));
  if (::fchmod(fd.get(), how.mode) != 0) return base::fail_errno(errno, base::cat("set the mode of ", path));
  TM_TRY_VOID(append_whole(fd.get(), bytes, 0, path));
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes.size())) != 0) {
    return base::fail_errno(errno, base::cat("cut ", path));
  }
  if (::fcntl(fd.get(), F_SETFL, O_APPEND) != 0) return base::fail_errno(errno, base::cat("append to ", path));
  if (how.sync && ::fsync(fd.get()) != 0) return base::fail_errno(errno, base::cat("sync ", path));
  return fd;
}

}  // namespace

Result<Fd> write_whole(const std::string& path, std::string_view bytes, WholeFile how) {
  const std::string made = beside(path);
  auto fd = fill(made, bytes, how);
  if (fd && std::rename(made.c_str(), path.c_str()) != 0) {
    fd = base::fail_errno(errno, base::cat("rename to ", path));
  }
  if (!fd) {
    ::unlink(made.c_str());
    return fd;
  }
  if (how.sync) TM_TRY_VOID(sync_folder(folder_of(path)));
  return fd;
}

Result<void> reserve_whole(const std::string& path, std::size_t bytes) {
  return reserve(beside(path), bytes);
}

Result<void> reserve(const std::string& path, std::size_t bytes) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, WholeFile().mode));
  if (!fd) return base::fail_errno(errno, base::cat("open ", path));
  if (::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOSYS) return {};
  const int why = errno;
  ::unlink(path.c_str());
  return base::fail_errno(why, base::cat("keep ", bytes, " bytes for ", path));
}

Result<std::optional<std::string>> read_whole(const std::string& path, std::size_t bytes_max) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!fd) return base::fail_errno(errno, base::cat("open ", path));
  // Reads until the end, whatever size is stated: the file may grow meanwhile.
  std::string bytes;
  while (true) {
    const std::size_t had = bytes.size();
    bytes.resize(had + std::min(std::max(kPieceBytes, had), bytes_max + 1 - had));
    const ssize_t count = ::read(fd.get(), bytes.data() + had, bytes.size() - had);
    const int why = errno;
    bytes.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && why == EINTR) continue;
    if (count < 0) return base::fail_errno(why, base::cat("read ", path));
    if (count == 0) return bytes;
    if (bytes.size() > bytes_max) return fail(ErrorKind::kInvalid, path, ": more than ", bytes_max, " bytes");
  }
}

Result<bool> remove_whole(const std::string& path, bool sync) {
  if (::unlink(path.c_str()) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return base::fail_errno(errno, base::cat("remove ", path));
  }
  if (sync) TM_TRY_VOID(sync_folder(folder_of(path)));
  return true;
}

Result<void> make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return base::fail_errno(error.value(), base::cat("make ", path));
  return {};
}

}  // namespace tidemark::journal
