#include "agent/reaction/reaction_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/thread.h"

namespace tidemark::agent {
namespace {

void rest() {
  constexpr auto kRest = std::chrono::duration_cast<std::chrono::milliseconds>(kReactionRest);
  ::poll(nullptr, 0, static_cast<int>(kRest.count()));
}

}  // namespace

Result<std::unique_ptr<ReactionThread>> ReactionThread::start(net::EventLoop& loop, Reactor& reactor,
                                                              std::function<void()> taken) {
  Fd told(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!told) return base::fail_errno(errno, "make a descriptor for the reaction thread");
  std::unique_ptr<ReactionThread> out(new ReactionThread(loop, reactor, std::move(told), std::move(taken)));
  try {
    out->thread_ = base::start_thread([thread = out.get()] { thread->run(); });
  } catch (const std::system_error& error) {  // no memory, or the thread limit is reached
    return base::fail_errno(error.code().value(), "start the reaction thread");
  }
  return out;
}

ReactionThread::ReactionThread(net::EventLoop& loop, Reactor& reactor, Fd told, std::function<void()> taken)
    : reactor_(reactor), told_(std::move(told)) {
  watch_ = loop.watch(told_.get(), net::kReadable, [this, taken = std::move(taken)](std::uint32_t) {
    std::uint64_t times = 0;
    (void)!::read(told_.get(), &times, sizeof(times));
    taken();
  });
}

ReactionThread::~ReactionThread() {
  reactor_.end();
  if (thread_.joinable()) thread_.join();
  watch_.cancel();
}

void ReactionThread::run() const {
  while (reactor_.wait_until_armed()) {
    if (reactor_.look()) tell();
    rest();
  }
}

void ReactionThread::tell() const {
  constexpr std::uint64_t kOnce = 1;
  (void)!::write(told_.get(), &kOnce, sizeof(kOnce));  // full after 2^64 of them
}

}  // namespace tidemark::agent
