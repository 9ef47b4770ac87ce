// The one thread beside the agent's loop that writes to the kernel. It knows nothing of the agent: it looks at what was
// handed over (reactor.h), rests, and looks again; what it took it tells the loop by a descriptor. Where nothing is
// armed it waits for that, and costs nothing.
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

// A surge that is large is answered with the next look, so within that much. Twice as often would cost twice as much
// and see no more: a kernel brings the counter of a group up to date with its ticks, of 1 to 10 ms.
inline constexpr base::Duration kReactionRest = std::chrono::milliseconds(40);

class ReactionThread {
 public:
  // `taken` runs on the loop, after a step was taken. Both others outlive it.
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
