#include "base/limits.h"

#include <algorithm>

namespace tidemark::base {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;
// A waiting time past this is as good as never, and keeps every sum below far from overflow.
constexpr Duration kIntervalMax = std::chrono::hours(24 * 365);
constexpr std::int64_t kBurstMax = 1'000'000'000;
// How far ahead tokens may be reserved in all; past it the bucket counts as empty.
constexpr Duration kDebtMax = 100 * kIntervalMax;

Duration interval_of(double per_second) {
  if (!(per_second > 0)) return Duration::max();
  const double nanoseconds = kNanosecondsPerSecond / per_second;
  if (nanoseconds >= static_cast<double>(kIntervalMax.count())) return Duration::max();
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

}  // namespace

TokenBucket::TokenBucket(double per_second, std::int64_t burst)
    : interval_(interval_of(per_second)), burst_(std::clamp<std::int64_t>(burst, 1, kBurstMax)), left_(burst_) {}

// The bucket holds burst − (full_at − now) / interval tokens; one is there when full_at − now ≤ (burst − 1) × interval.
Duration TokenBucket::wait(MonotonicTime now) const {
  if (interval_ == Duration::max()) return left_ > 0 ? Duration(0) : Duration::max();
  if (full_at_ <= now) return Duration(0);
  const Duration missing = full_at_ - now;
  if (missing >= kDebtMax) return Duration::max();
  // Divided, not multiplied: a long interval and a large burst would overflow.
  if (interval_ == Duration(0) || missing / interval_ < burst_ - 1) return Duration(0);
  return std::max(Duration(0), missing - interval_ * (burst_ - 1));
}

std::optional<Duration> TokenBucket::reserve(MonotonicTime now, Duration wait_max) {
  const Duration needed = wait(now);
  if (needed == Duration::max() || needed > wait_max) return std::nullopt;
  if (interval_ == Duration::max()) {
    --left_;
  } else {
    full_at_ = std::max(full_at_, now) + interval_;
  }
  return needed;
}

void TokenBucket::refund() {
  if (interval_ == Duration::max()) {
    left_ = std::min(left_ + 1, burst_);
  } else {
    full_at_ = MonotonicTime{full_at_.since_start - interval_};
  }
}

Backoff::Backoff(BackoffConfig config, Random random) : config_(config), random_(random), upcoming_() {
  config_.max = std::max(config_.max, Duration(0));
  config_.factor = std::max(config_.factor, 1.0);
  reset();
}

void Backoff::reset() {
  upcoming_ = std::clamp(config_.initial, Duration(0), config_.max);
  attempts_ = 0;
}

Duration Backoff::next() {
  const Duration wait = random_.jitter(upcoming_, config_.jitter);
  ++attempts_;
  const double grown = static_cast<double>(upcoming_.count()) * config_.factor;
  upcoming_ =
      grown >= static_cast<double>(config_.max.count()) ? config_.max : Duration(static_cast<Duration::rep>(grown));
  return wait;
}

RepeatGate::Verdict RepeatGate::admit(MonotonicTime now) {
  if (!any_ || idle(now)) {
    any_ = true;
    started_ = now;
    passed_ = 0;
  }
  if (passed_ >= burst_) {
    ++dropped_;
    return {};
  }
  ++passed_;
  const Verdict verdict{true, dropped_};
  dropped_ = 0;
  return verdict;
}

}  // namespace tidemark::base
