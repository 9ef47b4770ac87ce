#include "journal/audit_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "journal/append.h"

namespace tidemark::journal {
namespace {

constexpr int kOpenTries = 10;  // while others rotate
constexpr mode_t kFileMode = 0600;

std::string old_name(const std::string& path, int number) {
  return base::cat(path, ".", number);
}

// The one before it moves up, the last one goes.
Result<void> rotate(const std::string& path) {
  for (int number = kAuditOldFiles; number > 1; --number) {
    std::rename(old_name(path, number - 1).c_str(), old_name(path, number).c_str());
  }
  if (std::rename(path.c_str(), old_name(path, 1).c_str()) == 0 || errno == ENOENT) return {};
  return base::fail_errno(errno, base::cat("move ", path, " away"));
}

std::int64_t size_of(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0 ? found.st_size : 0;
}

// So that `coming` more bytes fit in: old files that were written under a larger bound go, the oldest first.
void make_room(const AuditFileOptions& options, std::int64_t coming) {
  std::int64_t old[kAuditOldFiles];
  std::int64_t sum = coming;
  for (int i = 0; i < kAuditOldFiles; ++i) sum += old[i] = size_of(old_name(options.path, i + 1));
  for (int i = kAuditOldFiles; i-- > 0 && sum > options.bytes_max;) {
    if (::unlink(old_name(options.path, i + 1).c_str()) == 0) sum -= old[i];
  }
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// A file cut off in the middle of a line would swallow the next one.
bool ends_in_line(int fd, std::int64_t size) {
  char last = '\n';
  return size == 0 || (::pread(fd, &last, 1, size - 1) == 1 && last == '\n');
}

// Appends as many of the lines from `first` on as fit; returns their number. 0 if the file is full: then it is rotated,
// or another process has done so.
Result<std::size_t> append_some(const AuditFileOptions& options, std::int64_t file_max, const std::vector<Entry>& lines,
                                std::size_t first) {
  const Fd file(::open(options.path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!file) return base::fail_errno(errno, base::cat("open ", options.path));
  if (::flock(file.get(), LOCK_EX) != 0) return base::fail_errno(errno, base::cat("lock ", options.path));
  struct stat opened{};
  struct stat named{};
  if (::fstat(file.get(), &opened) != 0) return base::fail_errno(errno, base::cat("look at ", options.path));
  if (!S_ISREG(opened.st_mode)) return fail(ErrorKind::kInvalid, options.path, " is no file");
  // Another process moved it away between opening and locking it.
  if (::stat(options.path.c_str(), &named) != 0 || !same_file(opened, named)) return std::size_t{0};
  std::string bytes = ends_in_line(file.get(), opened.st_size) ? "" : "\n";
  std::size_t count = 0;
  while (first + count < lines.size()) {
    const std::string& line = lines[first + count].payload;
    if (opened.st_size + static_cast<std::int64_t>(bytes.size() + line.size() + 1) > file_max) break;
    bytes += line;
    bytes += '\n';
    ++count;
  }
  if (count == 0) {
    TM_TRY_VOID(rotate(options.path));
    return count;
  }
  make_room(options, opened.st_size + static_cast<std::int64_t>(bytes.size()));
  TM_TRY_VOID(append_whole(file.get(), bytes, opened.st_size, options.path));
  return count;
}

std::string lost_line(std::uint64_t lines) {
  return base::cat(R"({"schema":1,"lost":)", lines, "}");
}

}  // namespace

Appended append_audit(const AuditFileOptions& given, const std::vector<Entry>& lines) {
  AuditFileOptions options = given;
  options.bytes_max = std::max(options.bytes_max, kAuditBytesMin);
  const std::int64_t file_max = options.bytes_max / (kAuditOldFiles + 1);
  Appended done;
  int empty_tries = 0;
  for (std::size_t next = 0; next < lines.size();) {
    if (static_cast<std::int64_t>(lines[next].payload.size()) >= file_max) {
      done.problem = base::cat("a line is longer than a file may be, ", file_max, " bytes");
      ++done.lost;
      ++next;
      continue;
    }
    Result<std::size_t> took = append_some(options, file_max, lines, next);
    if (took && *took == 0 && ++empty_tries > kOpenTries) {
      took = fail(ErrorKind::kConflict, options.path, " is moved away again and again");
    }
    if (!took) {
      done.problem = took.error().message;
      done.lost += lines.size() - next;
      return done;
    }
    if (*took == 0) continue;
    empty_tries = 0;
    if (next == 0) done.first_kept = true;
    done.kept += *took;
    next += *took;
  }
  return done;
}

std::unique_ptr<Backlog> keep_lines(net::EventLoop& loop, const base::Log& log, KeptLines options) {
  auto backlog = std::make_unique<Backlog>(
      loop, log,
      BacklogOptions{
          .bytes_max = options.waiting_max,
          .place = options.file.path,
          .trouble = options.trouble,
          .over = options.over,
          .kept = options.kept,
          .lost = options.lost,
          .mark = [line = std::move(options.lost_line)](std::uint64_t lines) { return Entry{line(lines), {}}; },
          .append =
              [file = options.file] {
                return [file](const std::vector<Entry>& lines) { return append_audit(file, lines); };
              },
          .appended = nullptr,
          .turned = nullptr});
  backlog->start();
  return backlog;
}

std::unique_ptr<AuditFile> AuditFile::make(net::EventLoop& loop, const base::Log& log, base::Registry& metrics,
                                           AuditFileOptions options) {
  if (options.path.empty() || options.path == kAuditNone) return nullptr;
  return std::make_unique<AuditFile>(loop, log, metrics, std::move(options));
}

AuditFile::AuditFile(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, AuditFileOptions options)
    : loop_(loop),
      kept_(metrics.counter("tidemark_audit_lines_total", "Lines written to the audit: one for each outside write.")),
      lost_(metrics.counter("tidemark_audit_lost_total", "Lines that the audit could not keep.")) {
  if (options.path == kAuditOutput) {
    const auto told = [](std::uint64_t lines) { return lost_line(lines) + "\n"; };
    output_ = std::make_unique<base::LineWriter>(STDOUT_FILENO, told, lost_, base::LineWriter::Limits());
    return;
  }
  backlog_ =
      keep_lines(loop, log,
                 {std::move(options), kAuditWaitingMax, "the audit does not keep what is written; all else goes on",
                  "the audit is written again", kept_, lost_, lost_line});
}

void AuditFile::add(std::string line) {
  if (output_) {
    kept_.add();
    return output_->write(line + "\n");
  }
  backlog_->add({std::move(line), {}});
}

net::Task<bool> AuditFile::drain(base::Duration limit) {
  if (output_) co_return output_->flush(limit);
  co_return co_await backlog_->drain(limit);
}

void AuditFile::finish(base::Duration limit) {
  net::Scope scope(loop_);
  const auto drain_then_stop = [this, limit]() -> net::Task<void> {
    (void)co_await drain(limit);
    loop_.stop();
  };
  scope.spawn(drain_then_stop());
  loop_.run();
}

}  // namespace tidemark::journal
