#include "journal/tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "journal/audit_file.h"

namespace tidemark::journal {
namespace {

constexpr std::size_t kHeadBytes = 256;
constexpr std::size_t kSearchBytes = std::size_t{64} << 10;

struct Opened {
  Fd fd;
  std::string name;
  TailPlace begin;
  std::int64_t size = 0;
};

Result<std::string> read_at(const Opened& file, std::int64_t offset, std::size_t bytes_max) {
  std::string bytes(bytes_max, '\0');
  std::size_t had = 0;
  while (had < bytes.size()) {
    const ssize_t count =
        ::pread(file.fd.get(), bytes.data() + had, bytes.size() - had, offset + static_cast<std::int64_t>(had));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail_errno(errno, base::cat("read ", file.name));
    if (count == 0) break;
    had += static_cast<std::size_t>(count);
  }
  bytes.resize(had);
  return bytes;
}

// A first line has a time, and few have the same.
Result<std::uint64_t> head_of(const Opened& file) {
  TM_TRY(const std::string begin, read_at(file, 0, kHeadBytes));
  const auto end = begin.find('\n');
  if (end == std::string::npos && begin.size() < kHeadBytes) return 0;
  return base::TextHash().add(std::string_view(begin).substr(0, end)).value();
}

bool is_same(const TailPlace& a, const TailPlace& b) {
  return a.inode == b.inode && a.device == b.device && (a.head == b.head || a.head == 0 || b.head == 0);
}

// The newest first: a file rotated meanwhile is opened twice rather than missed.
Result<std::vector<Opened>> open_all(const std::string& path) {
  std::vector<Opened> out;
  for (int number = 0; number <= kAuditOldFiles; ++number) {
    std::string name = number == 0 ? path : base::cat(path, ".", number);
    Fd fd(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd && errno == ENOENT) continue;
    if (!fd) return base::fail_errno(errno, base::cat("open ", name));
    struct stat found{};
    if (::fstat(fd.get(), &found) != 0) return base::fail_errno(errno, base::cat("look at ", name));
    Opened file{std::move(fd), std::move(name), {found.st_dev, found.st_ino, 0, 0}, found.st_size};
    TM_TRY(file.begin.head, head_of(file));
    if (!out.empty() && is_same(out.back().begin, file.begin)) continue;
    out.push_back(std::move(file));
  }
  return out;
}

// The position after the next line end; nullopt: there is none.
Result<std::optional<std::int64_t>> next_line(const Opened& file, std::int64_t offset) {
  while (true) {
    TM_TRY(const std::string bytes, read_at(file, offset, kSearchBytes));
    if (const auto end = bytes.find('\n'); end != std::string::npos) {
      return offset + static_cast<std::int64_t>(end) + 1;
    }
    if (bytes.empty()) return std::nullopt;
    offset += static_cast<std::int64_t>(bytes.size());
  }
}

// From where it is read on, and in which file.
struct ReadFrom {
  std::size_t file = 0;
  std::int64_t offset = 0;
  bool skipped = false;
};

Result<ReadFrom> read_from(const std::vector<Opened>& files, const TailPlace& place) {
  ReadFrom out{files.size() - 1, 0, place.inode != 0};
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!is_same(files[i].begin, place)) continue;
    if (place.offset > files[i].size) break;  // the file was truncated
    out = {i, place.offset, false};
    if (place.offset == 0) break;
    TM_TRY(const std::string before, read_at(files[i], place.offset - 1, 1));
    if (before == "\n") break;
    TM_TRY(const auto next, next_line(files[i], place.offset));
    out.offset = next.value_or(place.offset);
    out.skipped = next.has_value();
    break;
  }
  return out;
}

}  // namespace

Result<TailPlace> end_of(const std::string& path) {
  TM_TRY(const auto files, open_all(path));
  if (files.empty()) return TailPlace();
  TailPlace place = files.front().begin;
  place.offset = files.front().size;
  return place;
}

Result<TailPiece> read_on(const std::string& path, const TailPlace& place, std::size_t bytes_max) {
  TailPiece out;
  out.next = place;
  TM_TRY(const auto files, open_all(path));
  if (files.empty()) return out;
  TM_TRY(const ReadFrom from, read_from(files, place));
  auto at = from.file;
  auto offset = from.offset;
  out.skipped = from.skipped;
  while (true) {
    const Opened& file = files[at];
    TM_TRY(std::string bytes, read_at(file, offset, bytes_max));
    const auto end = bytes.rfind('\n');
    if (end == std::string::npos && bytes.size() == bytes_max) {  // a line longer than all that is taken at once
      TM_TRY(const auto next, next_line(file, offset));
      if (next) {
        out.skipped = true;
        offset = *next;
        continue;
      }
    }
    // The end of a line that is being written comes later; that of an older file never will.
    if (end == std::string::npos && at > 0) {
      --at;
      offset = 0;
      continue;
    }
    bytes.resize(end == std::string::npos ? 0 : end + 1);
    out.next = file.begin;
    out.next.offset = offset + static_cast<std::int64_t>(bytes.size());
    out.lines = std::move(bytes);
    break;
  }
  out.behind = files[at].size - out.next.offset;
  for (std::size_t newer = 0; newer < at; ++newer) out.behind += files[newer].size;
  return out;
}

}  // namespace tidemark::journal
