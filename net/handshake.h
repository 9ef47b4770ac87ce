// One handshake in progress, with its limit. Internal to net/.
#pragma once

#include <functional>
#include <memory>

#include "net/channel.h"
#include "net/loop.h"

namespace tidemark::net {

// Destroying it gives up: the descriptor is closed. `done` is called once, from the loop; it may destroy the handshake.
class Handshake {
 public:
  using Done = std::function<void(Result<std::unique_ptr<Channel>>)>;
  Handshake(EventLoop& loop, std::unique_ptr<Channel> channel, std::string peer, base::Duration limit, Done done);
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

 private:
  void step();
  void finish(Result<std::unique_ptr<Channel>> result);

  std::unique_ptr<Channel> channel_;
  Done done_;
  FdWatch watch_;  // after the channel: it goes before the descriptor is closed
  Timer timer_;
};

}  // namespace tidemark::net
