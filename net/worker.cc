#include "net/worker.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/thread.h"

namespace tidemark::net {

struct WorkerPool::Impl {
  std::size_t queue_max = 0;
  AtEnd at_end = AtEnd::kJoin;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool stopping = false;
  std::vector<std::thread> threads;

  void work() {
    for (;;) {
      std::function<void()> next;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return stopping || !queue.empty(); });
        if (stopping) return;
        next = std::move(queue.front());
        queue.pop_front();
      }
      next();
    }
  }
};

WorkerPool::WorkerPool(int threads, std::size_t queue_max, AtEnd at_end) : impl_(std::make_shared<Impl>()) {
  TM_CHECK(threads > 0 && queue_max > 0, "a pool without threads or room never answers");
  impl_->queue_max = queue_max;
  impl_->at_end = at_end;
  for (int i = 0; i < threads; ++i) {
    impl_->threads.push_back(base::start_thread([impl = impl_] { impl->work(); }));
  }
}

WorkerPool::~WorkerPool() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    dropped.swap(impl_->queue);
  }
  impl_->changed.notify_all();
  for (auto& thread : impl_->threads) {
    if (impl_->at_end == AtEnd::kAbandon) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

bool WorkerPool::submit(std::function<void()> work) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->queue.size() >= impl_->queue_max) return false;
    impl_->queue.push_back(std::move(work));
  }
  impl_->changed.notify_one();
  return true;
}

void WorkerPool::answer(Impl& impl, EventLoop& loop, std::function<void()> callback) {
  const std::lock_guard lock(impl.mutex);
  if (impl.stopping && impl.at_end == AtEnd::kAbandon) return;  // the loop may be gone
  loop.post_from_any_thread(std::move(callback));
}

}  // namespace tidemark::net
