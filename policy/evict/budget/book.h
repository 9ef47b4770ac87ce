// Counts how many tasks ended, and how many of them were evicted: by pool and class for a day, by job for a day, by
// pool for an hour in minutes. One meaning everywhere:
//
//   eviction rate = evicted / ended,    ended = evicted + finished normally
//
// A task that ends with its node, or is moved off a cordoned one, is in neither. Everything is bounded: the excess is
// counted under kOther; an excess job is counted only in left_out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace tidemark::policy::evict {

inline constexpr base::Duration kMinute = std::chrono::minutes(1);     // slots of a pool's last hour
inline constexpr base::Duration kSlot = std::chrono::minutes(10);      // slots of a day
inline constexpr base::Duration kMinutesKept = std::chrono::hours(1);  // also the longest window
inline constexpr base::Duration kDayKept = std::chrono::hours(24);
inline constexpr std::size_t kClassSeriesMax = 500;  // pools by classes
inline constexpr std::size_t kPoolSeriesMax = 300;
inline constexpr std::size_t kJobSeriesMax = 2'000;      // jobs evicted within a day
inline constexpr std::size_t kNameMax = 320;             // bytes of a name; longer ones are cut
inline constexpr std::string_view kOther = "other";      // classes that the settings do not name
inline constexpr std::string_view kUnnamed = "unnamed";  // tasks that say no class

struct Ended {
  std::int64_t evicted = 0;
  std::int64_t finished = 0;
  std::int64_t ended() const { return evicted + finished; }
  Ended& operator+=(const Ended& other) {
    evicted += other.evicted;
    finished += other.finished;
    return *this;
  }
  bool operator==(const Ended&) const = default;
};

// Counts by slots of one length, oldest first; slots without an ended task are absent.
struct Series {
  struct Slot {
    std::int64_t index = 0;  // since the epoch
    Ended ended;
    bool operator==(const Slot&) const = default;
  };
  std::vector<Slot> slots;
  bool operator==(const Series&) const = default;
};

using PoolAnd = std::pair<std::string, std::string>;  // a pool, and a class or a job

struct EvictionBook {
  std::map<std::string, Series, std::less<>> minutes;  // by pool
  std::map<PoolAnd, Series> classes;
  std::map<PoolAnd, Series> jobs;  // evictions alone
  // By pool, minutes, as evicted: work that YARN's operator evicted for more timely work. It uses up the pool's hour as
  // evictions do, but it does not show that too much was sold, so it is in no rate.
  std::map<std::string, Series, std::less<>> preempted;
  std::int64_t left_out = 0;  // evictions of jobs beyond kJobSeriesMax
  base::WallTime until;       // tasks that ended up to here are counted
  bool operator==(const EvictionBook&) const = default;
};

struct TaskEnd {
  std::string pool = {};
  std::string work_class = {};
  std::string job = {};
  bool evicted = false;
  std::int64_t times = 1;  // number of equal entries
};

// A `when` later than `now` counts as `now`; one older than the kept time is dropped.
void count(EvictionBook& book, const TaskEnd& end, base::WallTime when, base::WallTime now);
void count_preempted(EvictionBook& book, std::string_view pool, std::int64_t tasks, base::WallTime when,
                     base::WallTime now);
// Drops what is older than the kept time. If the clock was set back, also drops slots in its future.
void forget_old(EvictionBook& book, base::WallTime now);

// Of the last `window`, at most kMinutesKept, and not before `since`. Rounded to the minute, never down.
Ended lately(const EvictionBook& book, std::string_view pool, base::Duration window, base::WallTime since,
             base::WallTime now);
// What used up the last hour: evicted and returned.
std::int64_t preempted_lately(const EvictionBook& book, std::string_view pool, base::WallTime now);
std::int64_t used_of_hour(const EvictionBook& book, std::string_view pool, base::WallTime now);
// Of the last day: of one class, or of the whole pool.
Ended of_day(const EvictionBook& book, std::string_view pool, std::string_view work_class, base::WallTime now);
Ended of_day(const EvictionBook& book, std::string_view pool, base::WallTime now);

// Of a job: the last hour (rounded up to the slot), and the day that includes it.
struct JobEvictions {
  std::int64_t hour = 0;
  std::int64_t day = 0;
};
JobEvictions of_job(const Series& job, base::WallTime now);

}  // namespace tidemark::policy::evict
