#include "journal/audit_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "net/fd.h"

namespace tidemark::journal {
namespace {

constexpr int kOpenTries = 10;  // while others rotate
constexpr mode_t kFileMode = 0600;

std::unexpected<Error> trouble(std::string_view what, const std::string& path) {
  return fail(ErrorKind::kUnavailable, what, " ", path, ": ", std::strerror(errno));
}

std::string old_name(const std::string& path, int number) {
  return base::cat(path, ".", number);
}

// The one before it moves up, the last one goes. What cannot be moved is overwritten next time.
void rotate(const std::string& path) {
  for (int number = kAuditOldFiles; number > 1; --number) {
    std::rename(old_name(path, number - 1).c_str(), old_name(path, number).c_str());
  }
  std::rename(path.c_str(), old_name(path, 1).c_str());
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// A file cut off in the middle of a line would swallow the next one.
bool ends_in_line(int fd, std::int64_t size) {
  char last = '\n';
  return size == 0 || (::pread(fd, &last, 1, size - 1) == 1 && last == '\n');
}

Result<void> write_all(int fd, const std::string& text, std::int64_t size_before, const std::string& path) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote > 0) {
      done += static_cast<std::size_t>(wrote);
      continue;
    }
    auto error = trouble("cannot write", path);
    // Half a line helps nobody. Where it stays, the next line begins on a line of its own.
    if (::ftruncate(fd, size_before) != 0) error.error().message += "; a part of a line is left";
    return error;
  }
  return {};
}

}  // namespace

Result<void> append_audit(const AuditFileOptions& options, const std::string& lines) {
  const std::int64_t file_max = std::max(options.bytes_max, kAuditBytesMin) / (kAuditOldFiles + 1);
  for (int attempt = 0; attempt < kOpenTries; ++attempt) {
    const net::Fd file(::open(options.path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
    if (!file) return trouble("cannot open", options.path);
    if (::flock(file.get(), LOCK_EX) != 0) return trouble("cannot lock", options.path);
    struct stat opened{};
    struct stat named{};
    if (::fstat(file.get(), &opened) != 0) return trouble("cannot look at", options.path);
    if (!S_ISREG(opened.st_mode)) return fail(ErrorKind::kInvalid, options.path, " is no file");
    // Somebody moved it away between opening and locking it.
    if (::stat(options.path.c_str(), &named) != 0 || !same_file(opened, named)) continue;
    const std::int64_t size = opened.st_size;
    if (size > 0 && size + static_cast<std::int64_t>(lines.size()) > file_max) {
      rotate(options.path);
      continue;
    }
    return write_all(file.get(), ends_in_line(file.get(), size) ? lines : "\n" + lines, size, options.path);
  }
  return fail(ErrorKind::kConflict, options.path, " is moved away again and again");
}

AuditFile::AuditFile(net::EventLoop& loop, base::Log log, base::Registry& metrics, AuditFileOptions options)
    : loop_(loop),
      log_(std::move(log)),
      options_(std::move(options)),
      kept_(metrics.counter("tidemark_audit_lines_total", "Lines written to the audit: one for each outside write.")),
      lost_(metrics.counter("tidemark_audit_lost_total", "Lines that the audit could not keep.")),
      something_(loop),
      idle_(loop),
      worker_(1, 1),
      scope_(loop) {
  if (options_.path == "-") {
    const auto told = [](std::uint64_t lines) { return base::cat(R"({"schema":1,"lost":)", lines, "}\n"); };
    stream_ = std::make_unique<base::LineWriter>(STDOUT_FILENO, told, lost_, base::LineWriter::Limits());
  }
  scope_.spawn(run());
}

void AuditFile::add(std::string line) {
  line += '\n';
  if (stream_) {
    kept_.add();
    return stream_->write(line);
  }
  if (waiting_.size() + line.size() > kAuditWaitingMax) {
    return lost(1, "the disk takes them more slowly than they come, or not at all");
  }
  waiting_ += line;
  ++waiting_lines_;
  idle_.clear();
  something_.set();
}

// Told once, until it is over.
void AuditFile::lost(std::uint64_t lines, const std::string& why) {
  lost_.add(lines);
  lost_untold_ += lines;
  if (in_trouble_) return;
  in_trouble_ = true;
  log_.error("the audit does not keep what is written; all else goes on", {{"why", why}});
}

net::Task<bool> AuditFile::drain(base::Duration limit) {
  if (stream_) co_return stream_->flush(limit);
  if (waiting_.empty() && !busy_) co_return true;
  co_return co_await idle_.wait_for(limit);
}

net::Task<void> AuditFile::run() {
  while (true) {
    co_await something_.wait();
    something_.clear();
    busy_ = true;
    while (!waiting_.empty()) {
      const std::uint64_t telling = lost_untold_;
      std::string lines = telling == 0 ? "" : base::cat(R"({"schema":1,"lost":)", telling, "}\n");
      lines += std::exchange(waiting_, {});
      const std::uint64_t count = std::exchange(waiting_lines_, 0);
      const auto done = co_await worker_.run<Result<void>>(
          loop_, [options = options_, lines = std::move(lines)] { return append_audit(options, lines); });
      if (!done || !*done) {
        lost(count, done ? done->error().message : done.error().message);
        continue;
      }
      kept_.add(count);
      lost_untold_ -= telling;
      if (in_trouble_) log_.info("the audit is written again", {{"lines_lost", telling}});
      in_trouble_ = false;
    }
    busy_ = false;
    idle_.set();
  }
}

}  // namespace tidemark::journal
