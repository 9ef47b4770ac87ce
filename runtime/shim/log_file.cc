#include "runtime/shim/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "runtime/shim/log_lines.h"

namespace tidemark::runtime {
namespace {

constexpr mode_t kLogMode = 0640;
constexpr std::int64_t kPercent = 100;

}  // namespace

bool LogFile::open() {
  if (file_) return true;
  file_ = Fd(::open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kLogMode));
  if (!file_) return false;
  struct stat found{};
  size_ = ::fstat(file_.get(), &found) == 0 ? found.st_size : 0;
  return true;
}

bool LogFile::has_room() const {
  struct statvfs found{};
  if (::fstatvfs(file_.get(), &found) != 0 || found.f_blocks == 0) return true;  // unknown: the write will show it
  const auto block = static_cast<std::int64_t>(found.f_frsize);
  const std::int64_t part = static_cast<std::int64_t>(found.f_blocks) / kPercent * options_.left_percent;
  return static_cast<std::int64_t>(found.f_bavail) > std::min(part, options_.left_bytes_max / block);
}

void LogFile::move_away() {
  file_.reset();
  const auto name = [this](int number) { return number == 0 ? options_.path : base::cat(options_.path, ".", number); };
  if (options_.files_max <= 1) {
    ::unlink(options_.path.c_str());
    return;
  }
  for (int number = options_.files_max - 1; number > 0; --number) {
    std::rename(name(number - 1).c_str(), name(number).c_str());
  }
  // If the rename failed (a directory is in the way): the file must not grow.
  ::unlink(options_.path.c_str());
}

// All of it or none: half a line would swallow the next one.
bool LogFile::append(std::string_view bytes) {
  if (size_ > 0 && size_ + static_cast<std::int64_t>(bytes.size()) > options_.bytes_max) move_away();
  if (!open() || !has_room()) return false;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  if (done == bytes.size()) {
    size_ += static_cast<std::int64_t>(done);
    return true;
  }
  if (::ftruncate(file_.get(), size_) != 0) file_.reset();  // it is looked at anew
  return false;
}

void LogFile::write(std::string_view lines, base::WallTime now) {
  if (lines.empty()) return;
  if (lost_ > 0) {
    const std::string told =
        base::cat(log_time(now), " stderr F [tidemark: ", lost_, " lines of this log are missing here]\n");
    if (append(told)) lost_ = 0;
  }
  if (lost_ > 0 || !append(lines)) lost_ += std::ranges::count(lines, '\n');
}

}  // namespace tidemark::runtime
