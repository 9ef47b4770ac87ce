// The folder of a journal, for its one writer. Every call may block on the disk: for a worker's thread, never for an
// event loop.
//
//   DIR/lock                 held while a process writes here
//   DIR/0000000000000042.tmj segments, numbered upwards; the last one is appended to
//
// All segments together stay below `bytes_max`: before they exceed it, the oldest is deleted. A segment of an earlier
// process is never appended to, so that its partial record stays at its end. Each segment begins with a start record
// and has the blobs of its records: it can be read without the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "journal/record.h"

namespace tidemark::journal {

inline constexpr std::int64_t kBytesMin = std::int64_t{1} << 20;     // of a journal
inline constexpr std::int64_t kSegmentMax = std::int64_t{64} << 20;  // bytes; else a sixteenth of the journal
inline constexpr std::size_t kSegmentsMax = 1024;  // a process that starts again and again makes small ones

struct StoreOptions {
  std::string directory;
  std::int64_t bytes_max = std::int64_t{1} << 30;
  Start start;  // `opened` is set with each segment
};

struct Entry {
  std::string payload;
  std::vector<std::shared_ptr<const Blob>> needs;
};

struct Appended {
  std::size_t kept = 0;
  std::size_t lost = 0;  // the disk did not take them
  bool first_kept = false;
  std::string problem;  // "" where there was none; also where giving up old segments mended it
  std::size_t segments_deleted = 0;
  std::int64_t bytes_used = 0;  // by all segments now
};

class Store {
 public:
  // Makes the folder. Errors: the folder cannot be used, or another process writes to it.
  static Result<std::unique_ptr<Store>> open(StoreOptions options);

  // In their order. Where the disk is full the oldest segments go, one by one, until there is room or nothing is left
  // to give; nothing half-written stays between records.
  Appended append(const std::vector<Entry>& entries, base::WallTime now);
  std::int64_t bytes_used() const;

 private:
  struct Segment {
    std::string path;
    std::int64_t bytes = 0;
  };

  explicit Store(StoreOptions options) : options_(std::move(options)) {}
  Result<void> prepare();
  std::int64_t segment_max() const;
  Result<void> turn_over(base::WallTime now);
  bool delete_oldest(Appended& done);
  Result<void> write(const std::string& bytes);
  Result<void> keep(const std::string& bytes, Appended& done);
  bool make_room(std::int64_t size, base::WallTime now, Appended& done);
  std::string frames_of(const Entry& entry) const;
  bool append_one(const Entry& entry, base::WallTime now, Appended& done);

  StoreOptions options_;
  Fd lock_;
  Fd file_;                                  // of the last segment; not open before the first record
  std::deque<Segment> segments_;             // the oldest first
  std::int64_t segment_limit_ = 0;           // of the last segment
  std::uint64_t next_number_ = 1;            // of a segment
  std::unordered_set<std::uint64_t> blobs_;  // in the open segment
};

// The segments of a folder, the oldest first, by their full paths.
Result<std::vector<std::string>> segments_in(const std::string& directory);

}  // namespace tidemark::journal
