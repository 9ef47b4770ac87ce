// Threads for what would block the loop (DNS, SQLite, big pure computations): an immutable value in, a value out.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "net/loop.h"

namespace tidemark::net {

class WorkerPool {
 public:
  // What the destructor does with work that runs. kAbandon is for library calls that wait for a server and cannot be
  // cancelled: the thread ends with its call or with the process, and posts no answer.
  enum class AtEnd { kJoin, kAbandon };
  WorkerPool(int threads, std::size_t queue_max, AtEnd at_end = AtEnd::kJoin);
  ~WorkerPool();  // drops what waits; before the loops that wait for it

  // Runs `work` on a worker and resumes on the loop. A full queue is kExhausted, at once. When the awaiting task is
  // destroyed the work still runs to its end, and its value is dropped: `work` must own what it uses.
  template <class T>
  Task<Result<T>> run(EventLoop& loop, std::function<T()> work) {
    struct Shared {
      std::optional<T> value;
      OneShot<bool>* waiting = nullptr;
    };
    auto shared = std::make_shared<Shared>();
    OneShot<bool> done(loop);
    shared->waiting = &done;
    struct Detach {
      Shared& shared;
      ~Detach() { shared.waiting = nullptr; }  // on the loop's thread, as is the posted callback below
    } detach{*shared};
    const bool queued = submit([shared, &loop, work = std::move(work), impl = impl_.get()]() mutable {
      shared->value.emplace(work());
      answer(*impl, loop, [shared] {
        if (shared->waiting != nullptr) shared->waiting->give(true);
      });
    });
    if (!queued) co_return fail(ErrorKind::kExhausted, "the worker queue is full");
    co_await done;
    co_return std::move(*shared->value);
  }

 private:
  struct Impl;
  bool submit(std::function<void()> work);
  static void answer(Impl& impl, EventLoop& loop, std::function<void()> callback);
  std::shared_ptr<Impl> impl_;  // shared with its threads
};

}  // namespace tidemark::net
