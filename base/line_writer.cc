#include "base/line_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace tidemark::base {
namespace {

// A pipe that is ready takes so much without blocking, and takes it whole.
constexpr std::size_t kChunk = PIPE_BUF;

// How often a wait without a lock looks.
constexpr Duration kLook = std::chrono::milliseconds(1);

// How long the thread waits for the descriptor before it looks whether it is still wanted.
constexpr Duration kReadySlice = std::chrono::milliseconds(200);

// Of all writers, so that a broken program can wait for it without a look at anything that may be broken.
std::atomic<std::size_t> unwritten_of_all{0};

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// The longest run of whole lines that one write takes; a line that is longer goes in pieces.
std::size_t next_chunk(std::string_view text) {
  if (text.size() <= kChunk) return text.size();
  const std::size_t newline = text.substr(0, kChunk).rfind('\n');
  return newline == std::string_view::npos ? kChunk : newline + 1;
}

enum class Wrote { kSome, kNotReady, kRefused };

// At most one chunk, once the descriptor is ready; waits for that no longer than `limit`.
Wrote write_once(int fd, std::string_view& rest, Duration limit) {
  if (fd < 0) return Wrote::kRefused;  // poll() would wait for it
  pollfd ready{fd, POLLOUT, 0};
  const auto limit_ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  const int count = ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(limit_ms, 0, INT_MAX)));
  if (count == 0 || (count < 0 && errno == EINTR)) return Wrote::kNotReady;
  const ssize_t written = ::write(fd, rest.data(), next_chunk(rest));
  if (written < 0) return errno == EINTR || errno == EAGAIN ? Wrote::kNotReady : Wrote::kRefused;
  rest.remove_prefix(static_cast<std::size_t>(written));
  return Wrote::kSome;
}

}  // namespace

// Outlives the writer if its thread hangs in a write at the end.
struct LineWriter::Shared {
  Shared(int the_fd, Notice the_notice, Counter& counter, std::size_t bytes_max)
      : fd(::fcntl(the_fd, F_DUPFD_CLOEXEC, 0)),
        queue_bytes_max(bytes_max),
        notice(std::move(the_notice)),
        dropped(&counter) {}
  ~Shared() {
    if (fd >= 0) ::close(fd);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  const int fd;  // our own copy: the caller may close its own. -1 if invalid: every line is refused
  const std::size_t queue_bytes_max;
  std::mutex mutex;
  std::condition_variable changed;
  std::string queue;
  std::size_t writing = 0;   // bytes that the thread has taken and not yet written
  std::uint64_t untold = 0;  // lines dropped since the last notice
  bool stopping = false;     // the writer is being destroyed: finish and end
  bool abandoned = false;    // the writer is gone: its notice and counter too
  bool ended = false;        // the thread will not touch anything any more
  bool refused = false;      // the last write was: a notice would be refused too
  Notice notice;
  Counter* dropped;

  // All of these under the lock.
  void drop(std::size_t lines) {
    if (lines == 0 || abandoned) return;
    dropped->add(lines);
    untold += lines;
  }
  void append(std::string_view text) {
    queue += text;
    unwritten_of_all.fetch_add(text.size());
  }
  void written(std::size_t bytes) {
    writing -= bytes;
    unwritten_of_all.fetch_sub(bytes);
    if (writing == 0 && queue.empty()) changed.notify_all();
  }
  bool fits(std::size_t bytes) const { return queue.size() + writing + bytes <= queue_bytes_max; }
  bool to_tell() const { return untold > 0 && !refused && !abandoned; }
  // The line, preceded by the number of lost lines; neither if there is no room for both.
  void take(std::string_view line) {
    const std::string told = to_tell() ? notice(untold) : std::string();
    // An empty queue takes any notice: it must come out some time.
    if (!fits(told.size() + line.size()) && !(line.empty() && queue.size() + writing == 0)) {
      return drop(lines_in(line));
    }
    if (!told.empty()) untold = 0;
    append(told);
    append(line);
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return !queue.empty() || to_tell() || stopping || abandoned; });
      if (queue.empty()) take("");  // no further line may come to say it
      if (queue.empty() || abandoned) break;
      std::string taken;
      taken.swap(queue);
      writing = taken.size();
      lock.unlock();
      write_out(taken, lock);
    }
    ended = true;
    changed.notify_all();
  }

  // Called without the lock, returns with it.
  void write_out(std::string_view rest, std::unique_lock<std::mutex>& lock) {
    while (!rest.empty()) {
      const std::size_t before = rest.size();
      const Wrote wrote = write_once(fd, rest, kReadySlice);
      lock.lock();
      if (wrote != Wrote::kNotReady) refused = wrote == Wrote::kRefused;
      if (refused) {
        drop(lines_in(rest));
        rest = {};
      }
      if (abandoned) return;  // counted off already
      written(before - rest.size());
      if (!rest.empty()) lock.unlock();
    }
  }
};

LineWriter::LineWriter(int fd, Notice notice, Counter& dropped, Limits limits)
    : limits_(limits), shared_(std::make_shared<Shared>(fd, std::move(notice), dropped, limits.queue_bytes)) {
  start_thread([shared = shared_] { shared->run(); }).detach();
}

LineWriter::~LineWriter() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, limits_.flush, [this] { return shared_->ended; });
  shared_->abandoned = true;
  unwritten_of_all.fetch_sub(shared_->queue.size() + shared_->writing);
  shared_->queue.clear();
  shared_->writing = 0;
  shared_->notice = nullptr;
}

void LineWriter::write(std::string_view line) {
  const std::lock_guard lock(shared_->mutex);
  shared_->take(line);
  shared_->changed.notify_all();
}

bool LineWriter::flush(Duration limit) {
  std::unique_lock lock(shared_->mutex);
  return shared_->changed.wait_for(lock, limit, [this] { return shared_->queue.empty() && shared_->writing == 0; });
}

bool LineWriter::wait_until_written(Duration limit) {
  constexpr timespec kPause{0, std::chrono::nanoseconds(kLook).count()};
  for (Duration waited{0}; unwritten_of_all.load() > 0; waited += kLook) {
    if (waited >= limit) return false;
    ::nanosleep(&kPause, nullptr);
  }
  return true;
}

bool write_within(int fd, std::string_view text, Duration limit) {
  constexpr Duration kNoTime{0};
  while (!text.empty()) {
    // Each ready chunk is a new wait: a reader that reads on is worth waiting for.
    const Wrote wrote = write_once(fd, text, std::max(limit, kNoTime));
    if (wrote != Wrote::kSome) return false;
  }
  return true;
}

}  // namespace tidemark::base
