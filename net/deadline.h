// A task with a limit.
#pragma once

#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "net/loop.h"

namespace tidemark::net {

namespace detail {
template <class T>
Task<void> give_to(Task<Result<T>> task, OneShot<Result<T>>& shot) {
  shot.give(co_await task);
}
}  // namespace detail

// What `task` answers, or kDeadline "WHAT did not finish within 10s"; the task is destroyed then.
template <class T>
Task<Result<T>> within(EventLoop& loop, Task<Result<T>> task, base::Duration limit, std::string what) {
  OneShot<Result<T>> shot(loop);
  Scope scope(loop);
  const Timer timer = loop.after(limit, [&] {
    shot.give(fail(ErrorKind::kDeadline, what, " did not finish within ", base::format_go_duration(limit)));
  });
  scope.spawn(detail::give_to(std::move(task), shot));
  co_return co_await shot;
}

}  // namespace tidemark::net
