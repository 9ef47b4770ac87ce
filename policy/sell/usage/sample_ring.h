// The use of one cgroup, second by second, for the length of its window: 16 bytes a sample, no allocation after the
// first second.
//
//    window of a duration   the samples at [now − duration, now], both ends counted, in whole milliseconds
//    percentile p           of n samples in ascending order the one at floor(float(n) × float(p)) − 1, at least 0
//    average                their sum / n, rounded down
//    last                   the one with the latest time
//    span                   from its first sample to its last, of the resource with the shorter one
//
// CPU and memory are two series in one: either may miss a sample. CPU is in millionths of a core and saturates at 4,294
// cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace tidemark::policy::sell {

inline constexpr base::Duration kSampleEvery = std::chrono::seconds(1);
// A sample closer to the last one than this is dropped, which limits the size of a window.
inline constexpr base::Duration kSampleGapMin = std::chrono::milliseconds(900);
// A sample that is older than the newest by more is not late: the clock was set back, and the ring starts again.
inline constexpr base::Duration kLateMax = std::chrono::seconds(10);

struct UsageSample {
  base::MonotonicTime at;
  std::optional<std::int64_t> cpu_micro;
  std::optional<std::int64_t> memory_bytes;
};

enum class SampleTaken : std::uint8_t {
  kKept,
  kTooSoon,  // kSampleGapMin; also a second one of the same instant: the first one counts
  kLate,     // older than the newest: not kept
  kAnew,     // kept, and all before it forgotten (kLateMax)
  kRefused,  // neither CPU nor memory, or less than nothing
};

struct UsageFigures {
  std::int64_t cpu_micro = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const UsageFigures&) const = default;
};

struct WindowUsage {
  base::Duration span{0};
  UsageFigures avg;
  UsageFigures p50;
  UsageFigures p90;
  UsageFigures p95;
  UsageFigures p99;
};

// Room to sort in: one for all rings.
struct WindowScratch {
  std::vector<std::int64_t> values;
};

// Which of n samples in ascending order a percentile is. n > 0. In single precision, as in contract 7.12: which of
// two neighbours it is depends on that.
std::size_t percentile_index(std::size_t n, float p);

class SampleRing {
 public:
  explicit SampleRing(base::Duration window);

  SampleTaken add(const UsageSample& sample);
  // Keeps the newest samples that fit into the new window.
  void set_window(base::Duration window);
  void forget_memory();  // the memory samples are of another kind now

  // nullopt if the window has no sample of CPU, or none of memory.
  std::optional<WindowUsage> usage(base::MonotonicTime now, base::Duration duration, WindowScratch& scratch) const;
  std::optional<UsageFigures> average(base::MonotonicTime now, base::Duration duration) const;
  std::optional<UsageFigures> percentile(base::MonotonicTime now, base::Duration duration, float p,
                                         WindowScratch& scratch) const;
  std::optional<UsageFigures> last(base::MonotonicTime now, base::Duration duration) const;

  std::optional<base::MonotonicTime> newest() const;
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return slots_.size(); }
  std::size_t bytes() const { return sizeof(SampleRing) + slots_.capacity() * sizeof(Slot); }

 private:
  static constexpr std::uint32_t kNoCpu = 0xffff'ffff;
  static constexpr std::int64_t kNoMemory = -1;
  struct Slot {
    std::uint32_t at_ms = 0;  // the low bits: a window is far shorter than the 49 days in which they come again
    std::uint32_t cpu_micro = kNoCpu;
    std::int64_t memory_bytes = kNoMemory;
  };
  static_assert(sizeof(Slot) == 16);

  // The oldest is 0.
  const Slot& slot(std::size_t i) const {
    const std::size_t at = first_ + i;
    return slots_[at < slots_.size() ? at : at - slots_.size()];
  }
  std::int64_t age_ms(std::size_t i) const;  // below the newest
  void drop_oldest();
  // The slots of the window, by index: [begin, end).
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  Range range(base::MonotonicTime now, base::Duration duration) const;
  std::optional<base::Duration> span(Range range) const;

  std::vector<Slot> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::int64_t window_ms_ = 0;
  std::int64_t newest_ms_ = 0;  // if size_ > 0
};

}  // namespace tidemark::policy::sell
