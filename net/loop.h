// The event loop: one thread, file descriptors, timers, and coroutines that wait for them.
//
// Every member function belongs to the loop's own thread, but for post_from_any_thread() and stop_from_any_thread().
// Handles (Timer, FdWatch, Waiter) cancel by destruction and may be destroyed inside their own callback.
//
// Time comes from the clock given. Under a simulated clock nothing sleeps: a test calls run_ready(), then advances the
// clock to next_timer() and goes on (net/testing/loop.h does that).
#pragma once

#include <coroutine>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "net/task.h"

namespace tidemark::net {

class EventLoop;

// A place in the ready list: the coroutine in it is resumed once, from the loop, unless the waiter is destroyed before.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  ~Waiter();
  void suspend(std::coroutine_handle<> handle) { handle_ = handle; }
  bool suspended() const { return static_cast<bool>(handle_); }
  // Puts the suspended coroutine on the loop's ready list; a second call before it ran does nothing.
  void wake(EventLoop& loop);

 private:
  friend class EventLoop;
  std::coroutine_handle<> handle_;
  EventLoop* loop_ = nullptr;  // not null while listed
  Waiter* previous_ = nullptr;
  Waiter* next_ = nullptr;
};

class [[nodiscard]] Timer {
 public:
  Timer() = default;
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;
  ~Timer();
  void cancel();
  bool armed() const;  // false once it fired or was cancelled

 private:
  friend class EventLoop;
  struct Entry;
  explicit Timer(std::shared_ptr<Entry> entry);
  std::shared_ptr<Entry> entry_;
};

enum : std::uint32_t { kReadable = 1, kWritable = 2, kHangup = 4 };

class [[nodiscard]] FdWatch {
 public:
  FdWatch() = default;
  FdWatch(FdWatch&&) noexcept;
  FdWatch& operator=(FdWatch&&) noexcept;
  ~FdWatch();
  void want(std::uint32_t events);  // kReadable | kWritable; hang-up is always reported
  void cancel();                    // before the descriptor is closed: its number may be reused a moment later

 private:
  friend class EventLoop;
  struct Entry;
  explicit FdWatch(std::shared_ptr<Entry> entry);
  std::shared_ptr<Entry> entry_;
};

class EventLoop {
 public:
  explicit EventLoop(const base::Clock& clock);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  const base::Clock& clock() const { return clock_; }

  // Runs until stop().
  void run();
  void stop();
  void stop_from_any_thread();

  // One round: what is ready, due timers, then file descriptors; with kYes and nothing done so far it waits for them,
  // at most until the next timer.
  enum class Wait { kNo, kYes };
  void turn(Wait wait);
  // Rounds without waiting until nothing is ready any more. What other threads still work on is not waited for.
  void run_ready();
  std::optional<base::MonotonicTime> next_timer() const;

  Timer after(base::Duration delay, std::function<void()> callback);
  FdWatch watch(int fd, std::uint32_t events, std::function<void(std::uint32_t)> callback);
  // SIGTERM and its like, as an event of this loop. Blocks the signal for the process' threads made afterwards.
  FdWatch watch_signals(std::initializer_list<int> signals, std::function<void(int)> callback);

  void post(std::function<void()> callback);  // next round
  void post_from_any_thread(std::function<void()> callback);

  // co_await loop.sleep(5s);
  class Sleep {
   public:
    Sleep(EventLoop& loop, base::Duration delay) : loop_(loop), delay_(delay) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const {}

   private:
    EventLoop& loop_;
    base::Duration delay_;
    Waiter waiter_;
    Timer timer_;
  };
  Sleep sleep(base::Duration delay) { return Sleep(*this, delay); }

 private:
  friend class Waiter;
  friend class Timer;
  friend class FdWatch;
  struct Impl;
  const base::Clock& clock_;
  std::unique_ptr<Impl> impl_;
};

// Owns running tasks. Destroying the scope destroys what still runs: that is how a component stops. Not from inside one
// of its own tasks, and before the loop.
class Scope {
 public:
  explicit Scope(EventLoop& loop);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  void spawn(Task<void> task);  // starts in the next round of the loop
  std::size_t running() const;
  void clear();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// A flag that coroutines wait for. set() wakes all waiters; later ones find it set. wake_one() is for something that
// only one can take: it wakes the longest waiter, and sets the flag if there is none.
class Event {
 public:
  explicit Event(EventLoop& loop) : loop_(loop) {}
  ~Event();  // waiters are never woken; their scope ends them
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void set();
  void wake_one();
  void clear() { set_ = false; }
  bool is_set() const { return set_; }

  // co_await event.wait(): returns at once when set.   co_await event.wait_for(1s): false when the time ran out.
  Task<void> wait();
  Task<bool> wait_for(base::Duration limit);

 private:
  struct Awaiter;
  EventLoop& loop_;
  bool set_ = false;
  std::list<Awaiter*> waiting_;
};

// Bridges a callback into a coroutine: give() may come before or after the await, once.
template <class T>
class OneShot {
 public:
  explicit OneShot(EventLoop& loop) : loop_(loop) {}
  void give(T value) {
    if (value_) return;
    value_.emplace(std::move(value));
    if (waiter_.suspended()) waiter_.wake(loop_);
  }
  bool given() const { return value_.has_value(); }

  bool await_ready() const { return value_.has_value(); }
  void await_suspend(std::coroutine_handle<> handle) { waiter_.suspend(handle); }
  T await_resume() { return std::move(*value_); }

 private:
  EventLoop& loop_;
  std::optional<T> value_;
  Waiter waiter_;
};

}  // namespace tidemark::net
