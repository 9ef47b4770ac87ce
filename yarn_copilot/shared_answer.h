// Shares one request among many callers: a caller during the request gets its answer, and an answer is reused for
// `age_max`.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "net/loop.h"

namespace tidemark::yarn_copilot {

template <class T>
class SharedAnswer {
 public:
  using Ask = std::function<net::Task<Result<T>>()>;

  SharedAnswer(net::EventLoop& loop, base::Duration age_max, Ask ask)
      : loop_(loop), age_max_(age_max), ask_(std::move(ask)), answer_(loop), scope_(loop) {}

  net::Task<Result<T>> get() {
    if (!asking_ && answered_ && loop_.clock().monotonic() - *answered_ <= age_max_) co_return *last_;
    if (!asking_) {
      asking_ = true;
      answer_.clear();
      scope_.spawn(pass_on());
    }
    co_await answer_.wait();
    co_return *last_;
  }
  // nullopt: no answer yet.
  const std::optional<Result<T>>& last() const { return last_; }

 private:
  net::Task<void> pass_on() {
    last_ = co_await ask_();
    answered_ = loop_.clock().monotonic();
    asking_ = false;
    answer_.set();
  }

  net::EventLoop& loop_;
  const base::Duration age_max_;
  const Ask ask_;
  std::optional<Result<T>> last_;
  std::optional<base::MonotonicTime> answered_;
  bool asking_ = false;
  net::Event answer_;
  net::Scope scope_;  // of the request: its first caller may end before the answer
};

}  // namespace tidemark::yarn_copilot
