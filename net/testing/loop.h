// Running a loop in tests: under the simulated clock without waiting, or for real with a guard against hangs.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/testing/clock.h"
#include "net/loop.h"

namespace tidemark::net::testing {

// Runs all that happens within `time`, each timer at its own moment, and leaves the clock that much later.
inline void run_for(EventLoop& loop, base::testing::Clock& clock, base::Duration time) {
  const base::MonotonicTime end = clock.monotonic() + time;
  loop.run_ready();
  for (auto next = loop.next_timer(); next && *next <= end; next = loop.next_timer()) {
    if (*next > clock.monotonic()) clock.advance(*next - clock.monotonic());
    loop.run_ready();
  }
  if (end > clock.monotonic()) clock.advance(end - clock.monotonic());
  loop.run_ready();
}

// Jumps from timer to timer until `condition` holds. False when `limit` of simulated time is over, or when nothing is
// left that could change anything.
template <class Condition>
bool run_until(EventLoop& loop, base::testing::Clock& clock, Condition&& condition,
               base::Duration limit = std::chrono::hours(1)) {
  const base::MonotonicTime end = clock.monotonic() + limit;
  loop.run_ready();
  while (!condition()) {
    const auto next = loop.next_timer();
    if (!next || *next > end) return false;
    if (*next > clock.monotonic()) clock.advance(*next - clock.monotonic());
    loop.run_ready();
  }
  return true;
}

inline constexpr base::Duration kRealGuard = std::chrono::seconds(60);

// Turns the loop, waiting for descriptors and other threads as long as it takes, until `condition` holds; false after
// `guard` of real time. Works with either clock; a simulated one stands still meanwhile.
template <class Condition>
bool run_real_until(EventLoop& loop, Condition&& condition, base::Duration guard = kRealGuard) {
  const base::SystemClock real;
  const base::MonotonicTime end = real.monotonic() + guard;
  const Timer bound = loop.after(guard, [] {});  // the longest wait of one turn
  while (!condition() && real.monotonic() < end) loop.turn(EventLoop::Wait::kYes);
  return condition();
}

namespace detail {
template <class T>
Task<void> keep(Task<T> task, std::optional<T>& value) {
  value.emplace(co_await task);
}
inline Task<void> keep(Task<void> task, bool& done) {
  co_await task;
  done = true;
}
[[noreturn]] inline void hung(const char* what) {
  throw std::runtime_error(std::string("the task did not finish within ") + what);
}
}  // namespace detail

// Runs a task to its end, waiting for real events. A task that hangs ends the test with an exception, which
// GoogleTest reports as a failure.
template <class T>
T run_task(EventLoop& loop, Task<T> task, base::Duration guard = kRealGuard) {
  std::optional<T> value;
  Scope scope(loop);
  scope.spawn(detail::keep(std::move(task), value));
  if (!run_real_until(loop, [&] { return value.has_value(); }, guard)) detail::hung("its real-time guard");
  return std::move(*value);
}
inline void run_task(EventLoop& loop, Task<void> task, base::Duration guard = kRealGuard) {
  bool done = false;
  Scope scope(loop);
  scope.spawn(detail::keep(std::move(task), done));
  if (!run_real_until(loop, [&] { return done; }, guard)) detail::hung("its real-time guard");
}

// The same under the simulated clock.
template <class T>
T run_task(EventLoop& loop, base::testing::Clock& clock, Task<T> task, base::Duration limit = std::chrono::hours(1)) {
  std::optional<T> value;
  Scope scope(loop);
  scope.spawn(detail::keep(std::move(task), value));
  if (!run_until(loop, clock, [&] { return value.has_value(); }, limit)) detail::hung("its simulated limit");
  return std::move(*value);
}
inline void run_task(EventLoop& loop, base::testing::Clock& clock, Task<void> task,
                     base::Duration limit = std::chrono::hours(1)) {
  bool done = false;
  Scope scope(loop);
  scope.spawn(detail::keep(std::move(task), done));
  if (!run_until(loop, clock, [&] { return done; }, limit)) detail::hung("its simulated limit");
}

}  // namespace tidemark::net::testing
