#include "kube/memory/answer_budget.h"

#include <utility>

namespace tidemark::kube::memory {

struct AnswerBudget::State {
  struct Waiting {
    Waiting(net::EventLoop& loop, std::size_t wanted) : bytes(wanted), let_in(loop) {}
    std::size_t bytes;
    net::Event let_in;
  };
  std::size_t bytes_max;
  std::size_t waiting_max;
  std::size_t held = 0;
  std::list<Waiting*> waiting;  // in order: a large one is not passed by small ones for ever

  bool fits(std::size_t bytes) const { return held == 0 || (bytes <= bytes_max && held <= bytes_max - bytes); }
  void let_in() {
    while (!waiting.empty() && fits(waiting.front()->bytes)) {
      held += waiting.front()->bytes;
      waiting.front()->let_in.set();
      waiting.pop_front();
    }
  }
};

AnswerBudget::Share& AnswerBudget::Share::operator=(Share&& other) noexcept {
  if (this != &other) {
    resize(0);
    state_ = std::move(other.state_);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void AnswerBudget::Share::resize(std::size_t bytes) {
  if (state_ == nullptr) return;
  state_->held = state_->held - bytes_ + bytes;
  bytes_ = bytes;
  state_->let_in();
}

AnswerBudget::AnswerBudget(net::EventLoop& loop, std::size_t bytes_max, std::size_t waiting_max)
    : loop_(loop), state_(std::make_shared<State>(State{bytes_max, waiting_max, 0, {}})) {}

std::optional<AnswerBudget::Share> AnswerBudget::try_take(std::size_t bytes) {
  if (!state_->waiting.empty() || !state_->fits(bytes)) return std::nullopt;
  state_->held += bytes;
  return Share(state_, bytes);
}

net::Task<std::optional<AnswerBudget::Share>> AnswerBudget::take(std::size_t bytes, base::Duration limit) {
  if (auto share = try_take(bytes)) co_return share;
  if (state_->waiting.size() >= state_->waiting_max) co_return std::nullopt;
  // The caller may be destroyed while it waits, or between admission and resumption.
  struct Place {
    Place(State& the_state, net::EventLoop& loop, std::size_t wanted)
        : state(the_state), self(loop, wanted), at(state.waiting.insert(state.waiting.end(), &self)) {}
    ~Place() {
      if (!self.let_in.is_set()) {
        state.waiting.erase(at);
        state.let_in();  // a smaller answer behind it may fit now
      } else if (!taken) {
        state.held -= self.bytes;
        state.let_in();
      }
    }
    State& state;
    State::Waiting self;
    std::list<State::Waiting*>::iterator at;
    bool taken = false;
  };
  const std::shared_ptr<State> state = state_;
  Place place(*state, loop_, bytes);
  co_await place.self.let_in.wait_for(limit);
  if (!place.self.let_in.is_set()) co_return std::nullopt;
  place.taken = true;
  co_return Share(state, bytes);
}

std::size_t AnswerBudget::held() const {
  return state_->held;
}
std::size_t AnswerBudget::waiting() const {
  return state_->waiting.size();
}

net::Buffer make_buffer_with_share(std::string text, AnswerBudget::Share share) {
  struct Held {
    const std::string text;
    AnswerBudget::Share share;
  };
  auto held = std::make_shared<Held>(std::move(text), std::move(share));
  const std::string* inner = &held->text;
  return net::Buffer(std::move(held), inner);
}

}  // namespace tidemark::kube::memory
