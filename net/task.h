// Coroutines of one thread. A Task is lazy and owned: it starts when it is awaited or spawned, and destroying it before
// it is done destroys its frame, and with it everything it waits for. So cancellation is destruction: there is no
// cancelled state to handle, and every awaitable of ours unlinks itself in its destructor.
//
//   Task<Result<Pod>> fetch(Client& client) { auto bytes = co_await client.get(…); … co_return pod; }
//
// A coroutine is never resumed from inside another callback: a wake-up puts it on the loop's ready list (net/loop.h),
// so no library below us is re-entered. No exception crosses a task: one that escapes stops the program.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace tidemark::net {

template <class T>
class Task;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> continuation;

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) const noexcept {
      auto next = self.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() const noexcept {}
};

}  // namespace detail

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { reset(); }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    handle_.promise().continuation = waiting;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

  // For owners at the top (Scope, tests).
  void start() { handle_.resume(); }
  bool done() const { return handle_ && handle_.done(); }
  explicit operator bool() const { return static_cast<bool>(handle_); }
  T take() {
    TM_CHECK(done(), "only a finished task has a value");
    return handle_.promise().take();
  }
  Handle handle() const { return handle_; }

 private:
  void reset() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }
  Handle handle_;
};

namespace detail {
template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}
}  // namespace detail

}  // namespace tidemark::net
