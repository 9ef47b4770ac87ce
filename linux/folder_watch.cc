#include "linux/folder_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::linux {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;

std::optional<FolderChangeKind> kind_of(std::uint32_t mask) {
  if (mask & IN_Q_OVERFLOW) return FolderChangeKind::kLost;
  // IN_IGNORED is the last of a watch: after IN_DELETE_SELF, after remove(), and when the file system is unmounted.
  if (mask & IN_IGNORED) return FolderChangeKind::kClosed;
  if (!(mask & IN_ISDIR)) return std::nullopt;  // a file
  if (mask & (IN_CREATE | IN_MOVED_TO)) return FolderChangeKind::kMade;
  if (mask & (IN_DELETE | IN_MOVED_FROM)) return FolderChangeKind::kGone;
  return std::nullopt;
}

}  // namespace

Result<FolderWatch> FolderWatch::open() {
  Fd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (fd) return FolderWatch(std::move(fd));
  const int error = errno;
  Error made = base::fail_errno(error, "watch folders").error();
  if (error == EMFILE) {
    made.kind = ErrorKind::kExhausted;
    made.message += ": fs.inotify.max_user_instances or the limit of open files is too low";
  }
  return fail(std::move(made));
}

Result<std::optional<int>> FolderWatch::add(const Directory& directory, const Place& place) {
  // inotify takes only a path; this one leads to the open directory, even after a rename.
  const std::string path = base::cat("/proc/self/fd/", directory.fd.get());
  const int watch = ::inotify_add_watch(fd_.get(), path.c_str(), kEvents);
  if (watch >= 0) return watch;
  const int error = errno;
  if (error == ENOENT || error == ENODEV) return std::nullopt;
  Error made = base::fail_errno(error, base::cat("watch the folder ", place.text())).error();
  if (error == ENOSPC) {
    made.kind = ErrorKind::kExhausted;
    made.message += ": fs.inotify.max_user_watches is too low";
  }
  return fail(std::move(made));
}

void FolderWatch::remove(int watch) {
  ::inotify_rm_watch(fd_.get(), watch);
}

Result<std::optional<FolderChange>> FolderWatch::next() {
  const auto space = buffer_.space();
  for (;;) {
    while (at_ < end_) {
      inotify_event event;
      TM_CHECK(end_ - at_ >= sizeof event, "the kernel hands out whole events");
      std::memcpy(&event, space.data() + at_, sizeof event);
      const char* name = space.data() + at_ + sizeof event;
      at_ += sizeof event + event.len;
      TM_CHECK(at_ <= end_, "the kernel hands out whole events");
      const auto kind = kind_of(event.mask);
      if (!kind) continue;
      const std::string_view text =
          event.len == 0 ? std::string_view() : std::string_view(name, ::strnlen(name, event.len));
      return FolderChange{*kind, event.wd, text};
    }
    const ssize_t got = ::read(fd_.get(), space.data(), space.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    if (got < 0) return base::fail_errno(errno, "read which folders changed");
    if (got == 0) return std::nullopt;
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
  }
}

}  // namespace tidemark::linux
