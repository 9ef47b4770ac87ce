// How many bytes the answers that are being sent may hold together. A list pins its objects, and text made of them,
// until its reader has taken it: without a bound, many readers of large lists fill the memory. Who finds no room waits,
// in order, for a bounded time, and holds nothing meanwhile.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "net/http.h"
#include "net/loop.h"

namespace tidemark::kube::memory {

class AnswerBudget {
 private:
  struct State;

 public:
  // A part of the budget, released by destruction.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept : state_(std::move(other.state_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept;
    ~Share() { resize(0); }
    // Never waits: what was let in may turn out to be larger than it said.
    void resize(std::size_t bytes);
    std::size_t bytes() const { return bytes_; }

   private:
    friend class AnswerBudget;
    Share(std::shared_ptr<State> state, std::size_t bytes) : state_(std::move(state)), bytes_(bytes) {}
    std::shared_ptr<State> state_;
    std::size_t bytes_ = 0;
  };

  AnswerBudget(net::EventLoop& loop, std::size_t bytes_max, std::size_t waiting_max);
  AnswerBudget(const AnswerBudget&) = delete;
  AnswerBudget& operator=(const AnswerBudget&) = delete;

  // Admits at once or not at all. More than the whole budget is admitted if there is no other holder.
  std::optional<Share> try_take(std::size_t bytes);
  // nullopt: no room within `limit`, or too many wait already.
  net::Task<std::optional<Share>> take(std::size_t bytes, base::Duration limit);

  std::size_t held() const;
  std::size_t waiting() const;

 private:
  net::EventLoop& loop_;
  std::shared_ptr<State> state_;  // a share may outlive this, in an answer that is still on its way
};

// Shared as any other; the share goes when the last reader has let go of the text.
net::Buffer make_buffer_with_share(std::string text, AnswerBudget::Share share);

}  // namespace tidemark::kube::memory
