#include "policy/sell/usage/sample_ring.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tidemark::policy::sell {
namespace {

std::int64_t milliseconds(base::Duration duration) {
  return std::chrono::floor<std::chrono::milliseconds>(duration).count();
}

std::size_t slots_for(base::Duration window) {
  return static_cast<std::size_t>(std::max<std::int64_t>(milliseconds(window), 0) / milliseconds(kSampleGapMin)) + 2;
}

constexpr base::Duration kRingWindowMax = std::chrono::hours(24);

constexpr float kP50 = 0.5F;
constexpr float kP90 = 0.9F;
constexpr float kP95 = 0.95F;
constexpr float kP99 = 0.99F;

// The requested percentiles ascend: each search begins where the last one ended.
class Picker {
 public:
  explicit Picker(std::vector<std::int64_t>& values) : values_(values) {}
  std::int64_t pick(float p) {
    const std::size_t at = percentile_index(values_.size(), p);
    if (at >= sorted_) {
      const auto nth = values_.begin() + static_cast<std::ptrdiff_t>(at);
      std::nth_element(values_.begin() + static_cast<std::ptrdiff_t>(sorted_), nth, values_.end());
      sorted_ = at + 1;
    }
    return values_[at];
  }

 private:
  std::vector<std::int64_t>& values_;
  std::size_t sorted_ = 0;  // what lies before is not larger than what lies behind; the last one is in its place
};

struct Mean {
  __int128 sum = 0;
  std::int64_t n = 0;
  void add(std::int64_t value) {
    sum += value;
    ++n;
  }
  std::int64_t value() const { return static_cast<std::int64_t>(sum / n); }
};

}  // namespace

std::size_t percentile_index(std::size_t n, float p) {
  const auto index = static_cast<std::int64_t>(std::floor(static_cast<float>(n) * p)) - 1;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(index, 0, static_cast<std::int64_t>(n) - 1));
}

SampleRing::SampleRing(base::Duration window) {
  window = std::clamp(window, base::Duration(0), kRingWindowMax);
  slots_.resize(slots_for(window));
  window_ms_ = milliseconds(window);
}

std::int64_t SampleRing::age_ms(std::size_t i) const {
  return static_cast<std::uint32_t>(static_cast<std::uint32_t>(newest_ms_) - slot(i).at_ms);
}

void SampleRing::drop_oldest() {
  first_ = (first_ + 1) % slots_.size();
  --size_;
}

SampleTaken SampleRing::add(const UsageSample& sample) {
  if (!sample.cpu_micro && !sample.memory_bytes) return SampleTaken::kRefused;
  if (sample.cpu_micro.value_or(0) < 0 || sample.memory_bytes.value_or(0) < 0) return SampleTaken::kRefused;
  const std::int64_t at_ms = milliseconds(sample.at.since_start);
  SampleTaken taken = SampleTaken::kKept;
  if (size_ > 0) {
    if (at_ms < newest_ms_) {
      if (newest_ms_ - at_ms <= milliseconds(kLateMax)) return SampleTaken::kLate;
      taken = SampleTaken::kAnew;
      size_ = 0;
    } else if (at_ms - newest_ms_ < milliseconds(kSampleGapMin)) {
      return SampleTaken::kTooSoon;
    } else if (at_ms - newest_ms_ > window_ms_) {
      size_ = 0;
    }
  }
  const std::int64_t gap_ms = size_ > 0 ? at_ms - newest_ms_ : 0;
  while (size_ > 0 && (size_ == slots_.size() || age_ms(0) + gap_ms > window_ms_)) drop_oldest();
  newest_ms_ = at_ms;
  Slot& place = slots_[(first_ + size_) % slots_.size()];
  ++size_;
  place.at_ms = static_cast<std::uint32_t>(at_ms);
  place.cpu_micro =
      sample.cpu_micro ? static_cast<std::uint32_t>(std::min<std::int64_t>(*sample.cpu_micro, kNoCpu - 1)) : kNoCpu;
  place.memory_bytes = sample.memory_bytes.value_or(kNoMemory);
  return taken;
}

void SampleRing::set_window(base::Duration window) {
  window = std::clamp(window, base::Duration(0), kRingWindowMax);
  if (milliseconds(window) == window_ms_) return;
  window_ms_ = milliseconds(window);
  std::vector<Slot> slots(slots_for(window));
  while (size_ > 0 && (size_ > slots.size() || age_ms(0) > window_ms_)) drop_oldest();
  for (std::size_t i = 0; i < size_; ++i) slots[i] = slot(i);
  slots_ = std::move(slots);
  first_ = 0;
}

void SampleRing::forget_memory() {
  for (Slot& each : slots_) each.memory_bytes = kNoMemory;
}

std::optional<base::MonotonicTime> SampleRing::newest() const {
  if (size_ == 0) return std::nullopt;
  return base::MonotonicTime{std::chrono::milliseconds(newest_ms_)};
}

SampleRing::Range SampleRing::range(base::MonotonicTime now, base::Duration duration) const {
  if (size_ == 0 || duration < base::Duration(0)) return {};
  const std::int64_t ahead_ms = milliseconds(now.since_start) - newest_ms_;
  const std::int64_t duration_ms = milliseconds(duration);
  // Ages descend: the first slot that is no older than this.
  const auto first_of = [this](std::int64_t age) {
    std::size_t low = 0;
    std::size_t high = size_;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (age_ms(middle) > age) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const std::size_t begin = first_of(duration_ms - ahead_ms);
  return {begin, std::max(begin, first_of(-ahead_ms - 1))};
}

std::optional<base::Duration> SampleRing::span(Range range) const {
  const auto of = [&](auto&& missing) -> std::optional<std::int64_t> {
    std::size_t begin = range.begin;
    std::size_t end = range.end;
    while (begin < end && missing(slot(begin))) ++begin;
    while (begin < end && missing(slot(end - 1))) --end;
    if (begin == end) return std::nullopt;
    return age_ms(begin) - age_ms(end - 1);
  };
  const auto cpu_ms = of([](const Slot& each) { return each.cpu_micro == kNoCpu; });
  const auto memory_ms = of([](const Slot& each) { return each.memory_bytes == kNoMemory; });
  if (!cpu_ms || !memory_ms) return std::nullopt;
  return std::chrono::milliseconds(std::min(*cpu_ms, *memory_ms));
}

std::optional<UsageFigures> SampleRing::average(base::MonotonicTime now, base::Duration duration) const {
  Mean cpu;
  Mean memory;
  const Range window = range(now, duration);
  for (std::size_t i = window.begin; i < window.end; ++i) {
    const Slot& each = slot(i);
    if (each.cpu_micro != kNoCpu) cpu.add(each.cpu_micro);
    if (each.memory_bytes != kNoMemory) memory.add(each.memory_bytes);
  }
  if (cpu.n == 0 || memory.n == 0) return std::nullopt;
  return UsageFigures{cpu.value(), memory.value()};
}

std::optional<UsageFigures> SampleRing::last(base::MonotonicTime now, base::Duration duration) const {
  std::optional<std::int64_t> cpu_micro;
  std::optional<std::int64_t> memory_bytes;
  const Range window = range(now, duration);
  for (std::size_t i = window.end; i > window.begin && !(cpu_micro && memory_bytes); --i) {
    const Slot& each = slot(i - 1);
    if (!cpu_micro && each.cpu_micro != kNoCpu) cpu_micro = each.cpu_micro;
    if (!memory_bytes && each.memory_bytes != kNoMemory) memory_bytes = each.memory_bytes;
  }
  if (!cpu_micro || !memory_bytes) return std::nullopt;
  return UsageFigures{*cpu_micro, *memory_bytes};
}

std::optional<UsageFigures> SampleRing::percentile(base::MonotonicTime now, base::Duration duration, float p,
                                                   WindowScratch& scratch) const {
  const Range window = range(now, duration);
  if (!span(window)) return std::nullopt;
  scratch.values.reserve(slots_.size());
  UsageFigures out;
  scratch.values.clear();
  for (std::size_t i = window.begin; i < window.end; ++i) {
    if (slot(i).cpu_micro != kNoCpu) scratch.values.push_back(slot(i).cpu_micro);
  }
  out.cpu_micro = Picker(scratch.values).pick(p);
  scratch.values.clear();
  for (std::size_t i = window.begin; i < window.end; ++i) {
    if (slot(i).memory_bytes != kNoMemory) scratch.values.push_back(slot(i).memory_bytes);
  }
  out.memory_bytes = Picker(scratch.values).pick(p);
  return out;
}

std::optional<WindowUsage> SampleRing::usage(base::MonotonicTime now, base::Duration duration,
                                             WindowScratch& scratch) const {
  const Range window = range(now, duration);
  const auto span_of_both = span(window);
  if (!span_of_both) return std::nullopt;
  WindowUsage out;
  out.span = *span_of_both;
  scratch.values.reserve(slots_.size());
  const auto fill = [&](auto value_of, std::int64_t UsageFigures::* member) {
    Mean mean;
    scratch.values.clear();
    for (std::size_t i = window.begin; i < window.end; ++i) {
      const std::optional<std::int64_t> value = value_of(slot(i));
      if (!value) continue;
      scratch.values.push_back(*value);
      mean.add(*value);
    }
    out.avg.*member = mean.value();
    Picker picker(scratch.values);
    out.p50.*member = picker.pick(kP50);
    out.p90.*member = picker.pick(kP90);
    out.p95.*member = picker.pick(kP95);
    out.p99.*member = picker.pick(kP99);
  };
  fill(
      [](const Slot& each) {
        return each.cpu_micro == kNoCpu ? std::nullopt : std::optional<std::int64_t>(each.cpu_micro);
      },
      &UsageFigures::cpu_micro);
  fill(
      [](const Slot& each) {
        return each.memory_bytes == kNoMemory ? std::nullopt : std::optional<std::int64_t>(each.memory_bytes);
      },
      &UsageFigures::memory_bytes);
  return out;
}

}  // namespace tidemark::policy::sell
