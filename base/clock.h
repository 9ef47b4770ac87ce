// Three clocks, three types, so that they cannot be mixed up.
//   monotonic  for intervals; stands still while the machine sleeps
//   boot       for leases and deadlines that others rely on; goes on while the machine sleeps
//   wall       for people and for time stamps in objects; may jump
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::base {

using Duration = std::chrono::nanoseconds;

struct MonotonicTime {
  Duration since_start{0};
  auto operator<=>(const MonotonicTime&) const = default;
  friend Duration operator-(MonotonicTime a, MonotonicTime b) { return a.since_start - b.since_start; }
  friend MonotonicTime operator+(MonotonicTime t, Duration d) { return {t.since_start + d}; }
};

struct BootTime {
  Duration since_boot{0};
  auto operator<=>(const BootTime&) const = default;
  friend Duration operator-(BootTime a, BootTime b) { return a.since_boot - b.since_boot; }
  friend BootTime operator+(BootTime t, Duration d) { return {t.since_boot + d}; }
};

// Such times may come from untrusted texts, so sums and differences saturate.
struct WallTime {
  Duration since_epoch{0};  // 1970-01-01T00:00:00Z, leap seconds ignored
  auto operator<=>(const WallTime&) const = default;
  friend Duration operator-(WallTime a, WallTime b) {
    Duration::rep apart = 0;
    if (!__builtin_sub_overflow(a.since_epoch.count(), b.since_epoch.count(), &apart)) return Duration(apart);
    return a < b ? Duration::min() : Duration::max();
  }
  friend WallTime operator+(WallTime t, Duration d) {
    Duration::rep sum = 0;
    if (!__builtin_add_overflow(t.since_epoch.count(), d.count(), &sum)) return {Duration(sum)};
    return {d < Duration(0) ? Duration::min() : Duration::max()};
  }
};

// A seam at the rim: only main/ chooses the real one. The simulated twin is base/testing/clock.h.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicTime monotonic() const = 0;
  virtual BootTime boot() const = 0;
  virtual WallTime wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  MonotonicTime monotonic() const override;
  BootTime boot() const override;
  WallTime wall() const override;
};

// RFC 3339 in UTC. metav1.Time has whole seconds ("2026-01-02T03:04:05Z"), metav1.MicroTime six digits.
std::string format_rfc3339(WallTime);
std::string format_rfc3339_micro(WallTime);
std::optional<WallTime> parse_rfc3339(std::string_view);  // any number of fraction digits, any offset

// Go's time.Duration text, as CRDs carry it: "5m0s", "1h0m0s", "300ms", "1.5h", "-2m".
std::string format_go_duration(Duration);
std::optional<Duration> parse_go_duration(std::string_view);

}  // namespace tidemark::base
