#include "journal/read_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/text.h"
#include "journal/audit_file.h"

namespace tidemark::journal {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

bool same_file(const Fd& a, const Fd& b) {
  struct stat one{}, other{};
  return ::fstat(a.get(), &one) == 0 && ::fstat(b.get(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

Result<void> read_lines(int fd, const std::string& name, std::size_t line_max, const TakeLine& take, LinesRead& read) {
  std::string piece(kPieceBytes, '\0');
  std::string begun;      // of a line that the last piece ended in
  bool too_long = false;  // it is passed over up to its end
  const auto end_line = [&](std::string_view rest) {
    too_long = too_long || begun.size() + rest.size() > line_max;
    if (too_long) {
      ++read.too_long;
    } else if (begun.empty()) {
      take(rest);
    } else {
      begun += rest;
      take(begun);
    }
    begun.clear();
    too_long = false;
  };
  while (true) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail_errno(errno, base::cat("read ", name));
    if (count == 0) break;
    std::string_view rest(piece.data(), static_cast<std::size_t>(count));
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      end_line(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (begun.size() + rest.size() > line_max) {
      too_long = true;
      begun.clear();
    } else if (!too_long) {
      begun += rest;
    }
  }
  if (!begun.empty() || too_long) end_line({});
  return {};
}

Result<LinesRead> read_kept_lines(const std::string& path, std::size_t line_max, const TakeLine& take) {
  std::vector<Fd> files;  // the newest first: a file rotated meanwhile is opened twice, not missed
  std::vector<std::string> names;
  for (int number = 0; number <= kAuditOldFiles; ++number) {
    std::string name = number == 0 ? path : base::cat(path, ".", number);
    Fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) continue;
    if (!file) return base::fail_errno(errno, base::cat("open ", name));
    if (!files.empty() && same_file(files.back(), file)) continue;
    files.push_back(std::move(file));
    names.push_back(std::move(name));
  }
  LinesRead read;
  read.files = files.size();
  for (std::size_t at = files.size(); at-- > 0;) {
    TM_TRY_VOID(read_lines(files[at].get(), names[at], line_max, take, read));
  }
  return read;
}

}  // namespace tidemark::journal
