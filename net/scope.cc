// The coroutine side of net/loop.h: Scope and Event.
#include <algorithm>
#include <iterator>
#include <list>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/loop.h"

namespace tidemark::net {

struct Scope::Impl : std::enable_shared_from_this<Scope::Impl> {
  struct Slot {
    Task<void> task;
    Waiter start;
  };
  using Slots = std::list<Slot>;

  explicit Impl(EventLoop& l) : loop(l) {}

  EventLoop& loop;
  Slots slots;
  std::vector<Slots::iterator> finished;  // a task cannot destroy its own frame: the next round does

  static Task<void> run(Impl* impl, Slots::iterator slot, Task<void> task) {
    co_await task;
    task = Task<void>();  // what its parameters hold is let go now, not a round later
    impl->finish(slot);
  }

  void finish(Slots::iterator slot) {
    finished.push_back(slot);
    if (finished.size() > 1) return;
    loop.post([weak = weak_from_this()] {
      if (const auto impl = weak.lock()) impl->reap();
    });
  }

  void reap() {
    for (const auto slot : std::exchange(finished, {})) slots.erase(slot);
  }

  void clear() {
    finished.clear();
    // One by one: the end of one task may spawn another, or ask how many are left.
    while (!slots.empty()) {
      Slots doomed;
      doomed.splice(doomed.begin(), slots, slots.begin());
    }
  }
};

Scope::Scope(EventLoop& loop) : impl_(std::make_shared<Impl>(loop)) {}
Scope::~Scope() {
  clear();
}

void Scope::spawn(Task<void> task) {
  TM_CHECK(task, "an empty task cannot run");
  auto& slot = impl_->slots.emplace_back();
  slot.task = Impl::run(impl_.get(), std::prev(impl_->slots.end()), std::move(task));
  slot.start.suspend(slot.task.handle());
  slot.start.wake(impl_->loop);
}

std::size_t Scope::running() const {
  return impl_->slots.size() - impl_->finished.size();
}
void Scope::clear() {
  impl_->clear();
}

struct Event::Awaiter {
  explicit Awaiter(Event& e) : event(&e) {}
  Awaiter(const Awaiter&) = delete;
  Awaiter& operator=(const Awaiter&) = delete;
  ~Awaiter() { unlist(); }

  bool await_ready() const { return event->set_; }
  void await_suspend(std::coroutine_handle<> handle) {
    waiter.suspend(handle);
    event->waiting_.push_back(this);
    place = std::prev(event->waiting_.end());
    listed = true;
  }
  void await_resume() const {}

  void unlist() {
    if (!std::exchange(listed, false)) return;
    event->waiting_.erase(place);
  }

  Event* event;
  Waiter waiter;
  std::list<Awaiter*>::iterator place;
  bool listed = false;
  bool timed_out = false;
};

Event::~Event() {
  for (Awaiter* awaiter : waiting_) awaiter->listed = false;
}

void Event::set() {
  set_ = true;
  for (Awaiter* awaiter : std::exchange(waiting_, {})) {
    awaiter->listed = false;
    awaiter->waiter.wake(loop_);
  }
}

void Event::wake_one() {
  if (waiting_.empty()) {
    set_ = true;
    return;
  }
  Awaiter* const first = waiting_.front();
  first->unlist();
  first->waiter.wake(loop_);
}

Task<void> Event::wait() {
  if (set_) co_return;
  Awaiter awaiter(*this);
  co_await awaiter;
}

Task<bool> Event::wait_for(base::Duration limit) {
  if (set_) co_return true;
  Awaiter awaiter(*this);
  const Timer timer = loop_.after(limit, [&awaiter, this] {
    if (!awaiter.listed) return;  // set in this very round
    awaiter.unlist();
    awaiter.timed_out = true;
    awaiter.waiter.wake(loop_);
  });
  co_await awaiter;
  co_return !awaiter.timed_out || set_;
}

}  // namespace tidemark::net
