// The one implementation of Connection, over a channel whose handshake is done. Internal to net/.
#pragma once

#include <memory>

#include "net/channel.h"
#include "net/connection.h"

namespace tidemark::net {

// `place` is let go when the descriptor is closed: the listener counts by it.
std::unique_ptr<Connection> make_socket_connection(EventLoop& loop, std::unique_ptr<Channel> channel, Peer peer,
                                                   std::shared_ptr<void> place);

}  // namespace tidemark::net
