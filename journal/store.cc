#include "journal/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "journal/append.h"
#include "journal/frame.h"

namespace tidemark::journal {
namespace {

constexpr std::string_view kSuffix = ".tmj";
constexpr std::size_t kDigits = 16;
constexpr std::int64_t kSegmentShare = 16;  // segments that a full journal has at least

bool is_segment(std::string_view name) {
  return name.size() == kDigits + kSuffix.size() && name.ends_with(kSuffix) &&
         name.find_first_not_of("0123456789") == kDigits;
}

std::string segment_name(std::uint64_t number) {
  std::string digits = std::to_string(number);
  return base::cat(std::string(kDigits - std::min(digits.size(), kDigits), '0'), digits, kSuffix);
}

std::uint64_t number_of(std::string_view path) {
  std::uint64_t number = 0;
  for (const char digit : path.substr(path.size() - kDigits - kSuffix.size(), kDigits)) {
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return number;
}

Result<void> make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); true; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0750) != 0 && errno != EEXIST) return base::fail_errno(errno, base::cat("make ", part));
    if (end == std::string::npos) return {};
  }
}

}  // namespace

Result<std::vector<std::string>> segments_in(const std::string& directory) {
  DIR* folder = ::opendir(directory.c_str());
  if (folder == nullptr) {
    const int why = errno;
    if (why == ENOENT) return fail(ErrorKind::kNotFound, "no such folder: ", directory);
    return base::fail_errno(why, base::cat("open ", directory));
  }
  std::vector<std::string> paths;
  while (const dirent* entry = ::readdir(folder)) {
    if (is_segment(entry->d_name)) paths.push_back(base::cat(directory, "/", entry->d_name));
  }
  ::closedir(folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  auto store = std::unique_ptr<Store>(new Store(std::move(options)));
  TM_TRY_VOID(store->prepare());
  return store;
}

Result<void> Store::prepare() {
  TM_TRY_VOID(make_folders(options_.directory));
  const std::string lock = base::cat(options_.directory, "/lock");
  lock_ = Fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!lock_) return base::fail_errno(errno, base::cat("open ", lock));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorKind::kConflict, "another process writes its journal to ", options_.directory,
                "; give each its own folder");
  }
  TM_TRY(const auto paths, segments_in(options_.directory));
  for (const auto& path : paths) {
    struct stat found{};
    if (::stat(path.c_str(), &found) == 0) segments_.push_back({path, found.st_size});
    next_number_ = number_of(path) + 1;
  }
  return {};
}

std::int64_t Store::bytes_used() const {
  std::int64_t sum = 0;
  for (const auto& segment : segments_) sum += segment.bytes;
  return sum;
}

std::int64_t Store::segment_max() const {
  return std::min(kSegmentMax, options_.bytes_max / kSegmentShare);
}

namespace {

// A broken disk or a vanished folder does not improve by deleting the rest.
bool is_for_want_of_room(const Error& error) {
  return error.code == ENOSPC || error.code == EDQUOT || error.code == EFBIG;
}

}  // namespace

// Never the one that is written to.
bool Store::delete_oldest(Appended& done) {
  if (segments_.empty() || (file_ && segments_.size() == 1)) return false;
  ::unlink(segments_.front().path.c_str());
  segments_.pop_front();
  ++done.segments_deleted;
  return true;
}

Result<void> Store::turn_over(base::WallTime now) {
  const std::string path = base::cat(options_.directory, "/", segment_name(next_number_));
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640));
  if (!file) return base::fail_errno(errno, base::cat("make ", path));
  ++next_number_;
  segments_.push_back({path, 0});
  file_ = std::move(file);
  Start start = options_.start;
  start.opened = now;
  std::string bytes;
  append_frame(bytes, encode(start));
  auto done = write(bytes);
  if (!done) {  // a segment without its start is useless
    ::unlink(path.c_str());
    file_.reset();
    segments_.pop_back();
  }
  return done;
}

// All of it, or the segment is as it was before.
Result<void> Store::write(const std::string& bytes) {
  Segment& segment = segments_.back();
  auto written = append_whole(file_.get(), bytes, segment.bytes, segment.path);
  struct stat now{};
  if (written) {
    segment.bytes += static_cast<std::int64_t>(bytes.size());
  } else if (::fstat(file_.get(), &now) == 0) {
    segment.bytes = now.st_size;  // where a part is left the reader passes over it
  }
  return written;
}

Result<void> Store::keep(const std::string& bytes, Appended& done) {
  while (true) {
    auto written = write(bytes);
    if (written) return written;
    done.problem = written.error().message;
    if (!is_for_want_of_room(written.error()) || !delete_oldest(done)) return written;
  }
}

bool Store::make_room(std::int64_t size, base::WallTime now, Appended& done) {
  // An entry whose blobs fill a segment must not start a new segment for every record after it.
  segment_limit_ = std::min(std::max(segment_max(), 2 * size), options_.bytes_max);
  if (file_) ::fdatasync(file_.get());
  file_.reset();
  // Make room for a full segment, so that the bound always holds.
  while (bytes_used() + segment_limit_ > options_.bytes_max || segments_.size() >= kSegmentsMax) {
    if (!delete_oldest(done)) break;
  }
  while (true) {
    auto turned = turn_over(now);
    if (turned) return true;
    done.problem = turned.error().message;
    if (!is_for_want_of_room(turned.error()) || !delete_oldest(done)) return false;
  }
}

std::string Store::frames_of(const Entry& entry) const {
  std::string bytes;
  for (const auto& blob : entry.needs) {
    if (blob != nullptr && !blobs_.contains(blob->hash)) append_frame(bytes, encode(*blob));
  }
  append_frame(bytes, entry.payload);
  return bytes;
}

bool Store::append_one(const Entry& entry, base::WallTime now, Appended& done) {
  std::string bytes = frames_of(entry);
  if (!file_ || segments_.back().bytes + static_cast<std::int64_t>(bytes.size()) > segment_limit_) {
    blobs_.clear();  // a new segment has none yet
    bytes = frames_of(entry);
    if (!make_room(static_cast<std::int64_t>(bytes.size()), now, done)) return false;
  }
  if (!keep(bytes, done)) return false;
  for (const auto& blob : entry.needs) {
    if (blob != nullptr) blobs_.insert(blob->hash);
  }
  return true;
}

Appended Store::append(const std::vector<Entry>& entries, base::WallTime now) {
  Appended done;
  for (const Entry& entry : entries) {
    if (append_one(entry, now, done)) {
      if (&entry == &entries.front()) done.first_kept = true;
      ++done.kept;
    } else {
      ++done.lost;
    }
  }
  done.bytes_used = bytes_used();
  return done;
}

}  // namespace tidemark::journal
