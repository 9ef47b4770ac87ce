// Rates and waits as plain values: time is passed in, nothing here reads a clock or sleeps. Not safe from several
// threads at once; the owner guards it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/random.h"

namespace tidemark::base {

// At most `burst` at once and `per_second` in the long run. A new bucket is full.
class TokenBucket {
 public:
  // A rate of 0 or less never refills; a burst is at least 1.
  TokenBucket(double per_second, std::int64_t burst);

  // Takes a token, if necessary a future one: returns how long to wait before acting, zero for at once. If that would
  // exceed `wait_max`, takes nothing and returns nothing.
  std::optional<Duration> reserve(MonotonicTime now, Duration wait_max);
  bool try_take(MonotonicTime now) { return reserve(now, Duration(0)).has_value(); }
  // The token that was taken last is not needed after all.
  void refund();
  // How long until a token is there; takes none. Duration::max() where the bucket never refills.
  Duration wait(MonotonicTime now) const;

 private:
  Duration interval_;  // between two tokens; max() for never
  std::int64_t burst_;
  std::int64_t left_;  // only where it never refills
  // When the bucket will be full again. Each token taken moves it on by one interval, so no fraction is ever rounded.
  MonotonicTime full_at_{Duration::min()};
};

// How long to wait before trying again: initial, × factor each time, up to max; each × (1 ± jitter), so that many who
// failed together do not come back together.
struct BackoffConfig {
  Duration initial = std::chrono::milliseconds(100);
  Duration max = std::chrono::seconds(30);
  double factor = 2.0;
  double jitter = 0.2;
};

class Backoff {
 public:
  Backoff(BackoffConfig config, Random random);

  Duration next();                                     // never more than max × (1 + jitter), never negative
  void reset();                                        // after a success: the next wait is the initial one again
  std::int64_t attempts() const { return attempts_; }  // calls of next() since the last reset

 private:
  BackoffConfig config_;
  Random random_;
  Duration upcoming_;
  std::int64_t attempts_ = 0;
};

// Lets `burst` repeats through in each window and counts the rest. A window starts with the first repeat after the last
// window's end.
class RepeatGate {
 public:
  RepeatGate(std::int64_t burst, Duration window) : burst_(burst), window_(window) {}

  struct Verdict {
    bool pass = false;
    std::int64_t dropped = 0;  // with a pass: how many were held back since the last pass
  };
  Verdict admit(MonotonicTime now);

  bool idle(MonotonicTime now) const { return now - started_ >= window_; }  // the window is over
  std::int64_t dropped() const { return dropped_; }

 private:
  std::int64_t burst_;
  Duration window_;
  MonotonicTime started_{};
  std::int64_t passed_ = 0;
  std::int64_t dropped_ = 0;
  bool any_ = false;
};

}  // namespace tidemark::base
