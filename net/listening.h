// A listening socket without its server: the address is known before anything else, and served later.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "net/connection.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::net {

// Nothing is accepted yet: clients wait. kAlreadyExists: another process listens there. A unix socket left behind by a
// dead process is replaced; one that answers is not.
Result<Fd> listen_socket(std::string_view address, unsigned unix_mode = 0600);

// listen_on() and HttpServer::listen() on such a socket; of the server's configuration `listen` and `unix_mode` are not
// looked at.
std::unique_ptr<Listener> accept_on(Fd socket, EventLoop& loop, base::Log log,
                                    std::function<void(std::unique_ptr<Connection>)> on_connection,
                                    AcceptOptions options);
Result<std::unique_ptr<HttpServer>> serve_on(Fd socket, EventLoop& loop, base::Log log, HttpServerConfig config,
                                             HttpHandler handler);

}  // namespace tidemark::net
