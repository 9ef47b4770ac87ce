// The only thread besides the agent's loop that writes to the kernel. It does not know the agent: it checks the order
// (reactor.h), sleeps, and checks again; it signals each step to the loop by a descriptor. If nothing is armed, it
// waits and costs nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "agent/reaction/reactor.h"
#include "base/fd.h"
#include "base/result.h"
#include "net/loop.h"

namespace tidemark::agent {

// A large surge is answered at the next look, so within this time. Twice as often would cost twice as much and see no
// more: a kernel updates the counter of a group at its ticks, every 1 to 10 ms.
inline constexpr base::Duration kReactionRest = std::chrono::milliseconds(40);

class ReactionThread {
 public:
  // `taken` runs on the loop after each step. Both other arguments outlive it.
  static Result<std::unique_ptr<ReactionThread>> start(net::EventLoop& loop, Reactor& reactor,
                                                       std::function<void()> taken);
  ReactionThread(const ReactionThread&) = delete;
  ReactionThread& operator=(const ReactionThread&) = delete;
  ~ReactionThread();

 private:
  ReactionThread(net::EventLoop& loop, Reactor& reactor, Fd told, std::function<void()> taken);
  void run() const;
  void tell() const;

  Reactor& reactor_;
  Fd told_;  // readable: a step was taken
  net::FdWatch watch_;
  std::thread thread_;
};

}  // namespace tidemark::agent
