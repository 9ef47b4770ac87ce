#include "linux/kernel_files.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/text.h"

namespace tidemark::linux {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr std::size_t kFoldersMax =
    20'000;  // in one directory: a node has some hundred pods, a broken one some thousand

bool is_gone(int error) {
  return error == ENODEV || error == ESRCH;
}

base::Error errno_error(int error, std::string_view doing) {
  base::Error made = base::fail_errno(error, doing).error();
  if (error == EACCES || error == EPERM) made.kind = ErrorKind::kDenied;
  // PSI of a machine or a group that is switched off reads as "Operation not supported".
  if (error == EOPNOTSUPP) made.kind = ErrorKind::kUnsupported;
  return made;
}

Result<Directory> with_identity(Fd fd, const Place& place) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail(errno_error(errno, base::cat("look at ", place.text())));
  return Directory{std::move(fd), {status.st_dev, status.st_ino}};
}

bool stays_beneath(std::string_view relative) {
  if (relative.starts_with('/') || relative.ends_with('/') || relative.contains('\0')) return false;
  while (!relative.empty()) {
    const std::size_t end = std::min(relative.find('/'), relative.size());
    const std::string_view part = relative.substr(0, end);
    if (part == "." || part == ".." || part.empty()) return false;
    relative.remove_prefix(std::min(end + 1, relative.size()));
  }
  return true;
}

// The descriptor, or a negative errno.
int open_at_once(int directory, const char* relative) {
  struct open_how how{};
  how.flags = kDirectoryFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < 3; ++tries) {
    const long fd = ::syscall(SYS_openat2, directory, relative, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno != EAGAIN) break;  // EAGAIN: something was renamed meanwhile
  }
  return -errno;
}

int open_in_steps(int directory, const char* relative) {
  Fd at;
  int from = directory;
  std::array<char, NAME_MAX + 1> part;
  for (const char* rest = relative; *rest != '\0';) {
    const std::size_t size = std::strcspn(rest, "/");
    if (size >= part.size()) return -ENAMETOOLONG;
    std::memcpy(part.data(), rest, size);
    part[size] = '\0';
    const int next = ::openat(from, part.data(), kDirectoryFlags | O_NOFOLLOW);
    if (next < 0) return -errno;
    at = Fd(next);
    from = next;
    rest += size;
    if (*rest == '/') ++rest;
  }
  return at.release();
}

// `open` gets a path that stays beneath and is not empty.
template <class Open>
Result<std::optional<Directory>> open_beneath_with(int directory, std::string_view relative, const Place& place,
                                                   Open open) {
  if (!stays_beneath(relative) || relative.size() >= PATH_MAX) {
    return fail(ErrorKind::kInvalid, "a path beneath ", place.folder,
                " is wanted, without empty parts, \".\" and \"..\", found ", base::in_quotes(relative));
  }
  std::array<char, PATH_MAX> path;
  std::memcpy(path.data(), relative.data(), relative.size());
  path[relative.size()] = '\0';
  int fd = relative.empty() ? ::openat(directory, ".", kDirectoryFlags) : open(path.data());
  if (fd < 0 && relative.empty()) fd = -errno;
  if (fd == -ENOENT || is_gone(-fd)) return std::nullopt;
  if (fd < 0) return fail(errno_error(-fd, base::cat("open the directory ", place.text())));
  return with_identity(Fd(fd), place);
}

// Up to the end of the file or of the buffer; how many bytes, or -1 and errno.
ssize_t read_all(int fd, std::span<char> space) {
  std::size_t size = 0;
  while (size < space.size()) {
    const ssize_t got = ::pread(fd, space.data() + size, space.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

std::string Place::text() const {
  std::string out(folder);
  for (const std::string_view part : {group, name}) {
    if (part.empty()) continue;
    if (!out.ends_with('/')) out.push_back('/');
    out.append(part);
  }
  return out;
}

Result<std::optional<Directory>> open_directory(const std::string& path) {
  const Place place{path, {}, {}};
  Fd fd(::open(path.c_str(), kDirectoryFlags));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) return fail(errno_error(errno, base::cat("open the directory ", path)));
  return with_identity(std::move(fd), place);
}

Result<std::optional<Directory>> open_beneath(int directory, std::string_view relative, const Place& place) {
  return open_beneath_with(directory, relative, place, [&](const char* path) {
    const int fd = open_at_once(directory, path);
    return fd == -ENOSYS || fd == -EPERM ? open_in_steps(directory, path) : fd;
  });
}

Result<std::optional<Directory>> open_beneath_in_steps(int directory, std::string_view relative, const Place& place) {
  return open_beneath_with(directory, relative, place,
                           [&](const char* path) { return open_in_steps(directory, path); });
}

Result<std::optional<Fd>> open_file(int directory, const char* name, int flags, const Place& place) {
  Fd fd(::openat(directory, name, flags | O_CLOEXEC | O_NOFOLLOW));
  if (!fd && (errno == ENOENT || is_gone(errno))) return std::nullopt;
  if (!fd) return fail(errno_error(errno, base::cat("open ", place.text())));
  return fd;
}

bool has_file(int directory, const char* name) {
  return ::faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::optional<std::string_view>> read_text(int fd, Buffer& buffer, const Place& place) {
  const auto space = buffer.space();
  const ssize_t size = read_all(fd, space);
  if (size < 0 && is_gone(errno)) return std::nullopt;
  if (size < 0) return fail(errno_error(errno, base::cat("read ", place.text())));
  if (static_cast<std::size_t>(size) == space.size()) {
    return fail(ErrorKind::kExhausted, "read ", place.text(), ": it has ", space.size(),
                " bytes or more, which is the most that is read");
  }
  return std::string_view(space.data(), static_cast<std::size_t>(size));
}

Result<std::optional<std::string_view>> read_beginning(int fd, Buffer& buffer, const Place& place) {
  const auto space = buffer.space();
  const ssize_t size = read_all(fd, space);
  if (size < 0 && is_gone(errno)) return std::nullopt;
  if (size < 0) return fail(errno_error(errno, base::cat("read ", place.text())));
  std::string_view text(space.data(), static_cast<std::size_t>(size));
  if (text.size() == space.size()) text = text.substr(0, text.rfind('\n') + 1);
  return text;
}

Result<std::optional<std::string_view>> read_path(const std::string& path, Buffer& buffer) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && (errno == ENOENT || is_gone(errno))) return std::nullopt;
  if (!fd) return fail(errno_error(errno, base::cat("open ", path)));
  return read_text(fd.get(), buffer, {path, {}, {}});
}

Result<Folder> Folder::open(std::string path) {
  TM_TRY(auto directory, open_directory(path));
  if (!directory) return fail(ErrorKind::kNotFound, "the directory ", path, " is not there");
  return Folder(std::move(path), std::move(*directory));
}

Result<std::optional<std::string_view>> Folder::read(const char* name, Buffer& buffer) const {
  const Place place{path_, {}, name};
  TM_TRY(const auto file, open_file(fd(), name, O_RDONLY, place));
  if (!file) return std::nullopt;
  return read_text(file->get(), buffer, place);
}

Result<std::optional<std::string_view>> Folder::read_beginning(const char* name, Buffer& buffer) const {
  const Place place{path_, {}, name};
  TM_TRY(const auto file, open_file(fd(), name, O_RDONLY, place));
  if (!file) return std::nullopt;
  return linux::read_beginning(file->get(), buffer, place);
}

Result<bool> list_folders(int directory, std::vector<std::string>& names, const Place& place) {
  names.clear();
  // Uses a descriptor of its own: the position in a listing belongs to the open file, which others read too.
  const int fd = ::openat(directory, ".", kDirectoryFlags);
  if (fd < 0 && (errno == ENOENT || is_gone(errno))) return false;
  if (fd < 0) return fail(errno_error(errno, base::cat("list ", place.text())));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fd), ::closedir);
  if (!stream) {
    const int error = errno;
    ::close(fd);
    return fail(errno_error(error, base::cat("list ", place.text())));
  }
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (!entry && errno == 0) break;
    if (!entry && (errno == ENOENT || is_gone(errno))) return false;
    if (!entry) return fail(errno_error(errno, base::cat("list ", place.text())));
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || entry->d_type != DT_DIR) continue;
    if (names.size() == kFoldersMax) {
      return fail(ErrorKind::kExhausted, "list ", place.text(), ": more than ", kFoldersMax, " folders");
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return true;
}

}  // namespace tidemark::linux
