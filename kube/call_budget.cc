#include "kube/call_budget.h"

#include <algorithm>
#include <utility>

namespace tidemark::kube {

struct Place::Held {
  Held(std::shared_ptr<CallBudget> of, base::Duration waited_for) : budget(std::move(of)), waited(waited_for) {}
  ~Held() {
    if (!used && budget != nullptr) budget->refund();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  std::shared_ptr<CallBudget> budget;  // null outside of any
  base::Duration waited;
  bool used = false;
};

Place Place::outside_budget() {
  Place place;
  place.held_ = std::make_shared<Held>(nullptr, base::Duration(0));
  return place;
}

Place::operator bool() const {
  return held_ != nullptr && !held_->used;
}

bool Place::use() {
  return held_ != nullptr && !std::exchange(held_->used, true);
}

base::Duration Place::waited() const {
  return held_ == nullptr ? base::Duration(0) : held_->waited;
}

// One in the line; its destruction leaves it.
struct CallBudget::Waiting {
  explicit Waiting(CallBudget& of)
      : budget(of), since(of.loop_.clock().monotonic()), place(of.loop_), at(of.line_.insert(of.line_.end(), this)) {}
  ~Waiting() {
    if (called) return;
    budget.line_.erase(at);
    budget.due_.pop_back();
    budget.bucket_.refund();
    budget.wake_for_first();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  CallBudget& budget;
  base::MonotonicTime since;
  net::OneShot<Place> place;
  std::list<Waiting*>::iterator at;
  bool called = false;
};

CallBudget::CallBudget(net::EventLoop& loop, double per_second, std::int64_t burst)
    : loop_(loop), bucket_(per_second, burst) {}

base::Duration CallBudget::wait() const {
  return bucket_.wait(loop_.clock().monotonic());
}

net::Task<std::optional<Place>> CallBudget::take(base::Duration limit) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  const auto wait = bucket_.reserve(now, limit);
  if (!wait) co_return std::nullopt;
  if (*wait == base::Duration(0) && line_.empty()) co_return hold(base::Duration(0));
  Waiting waiting(*this);
  due_.push_back(now + *wait);
  if (due_.size() == 1) wake_for_first();
  co_return std::optional<Place>(co_await waiting.place);
}

Place CallBudget::hold(base::Duration waited) {
  Place place;
  place.held_ = std::make_shared<Place::Held>(shared_from_this(), waited);
  return place;
}

// The first of the line has it now, and each of the others what the one before would have had.
void CallBudget::refund() {
  bucket_.refund();
  if (line_.empty()) return;
  due_.pop_back();
  call_first();
  wake_for_first();
}

void CallBudget::call_first() {
  Waiting& first = *line_.front();
  line_.pop_front();
  first.called = true;
  // Others ran meanwhile, also where no time passed.
  first.place.give(hold(std::max(loop_.clock().monotonic() - first.since, base::Duration(1))));
}

void CallBudget::serve() {
  while (!due_.empty() && due_.front() <= loop_.clock().monotonic()) {
    due_.pop_front();
    call_first();
  }
  wake_for_first();
}

void CallBudget::wake_for_first() {
  if (due_.empty()) {
    timer_.cancel();
    return;
  }
  const base::Duration left = due_.front() - loop_.clock().monotonic();
  timer_ = loop_.after(std::max(left, base::Duration(0)), [this] { serve(); });
}

}  // namespace tidemark::kube
