#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <list>
#include <utility>

#include "base/log.h"
#include "net/address.h"
#include "net/handshake.h"
#include "net/listening.h"
#include "net/socket_connection.h"
#include "net/tls_context.h"

namespace tidemark::net {
namespace {

constexpr int kBacklog = 4096;  // the kernel cuts it to net.core.somaxconn
constexpr int kAcceptsPerTurn = 64;
// Out of descriptors or memory: some must be freed first.
constexpr base::Duration kAcceptPause = std::chrono::milliseconds(200);

bool out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// Errors of one connection that was gone before it was accepted; accept(2) names these.
bool of_one_connection(int error) {
  return error == ECONNABORTED || error == EINTR || error == EPERM || error == EPROTO || error == ENETDOWN ||
         error == ENOPROTOOPT || error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH ||
         error == EOPNOTSUPP || error == ENETUNREACH;
}

Peer peer_of(int fd, const SocketAddress& address) {
  Peer peer;
  if (address.family() != AF_UNIX) {
    peer.address = address.text();
    return peer;
  }
  peer.address = "unix";
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
    peer.unix_credentials = Peer::UnixCredentials{credentials.pid, credentials.uid, credentials.gid};
  }
  return peer;
}

class Core : public std::enable_shared_from_this<Core> {
 public:
  using OnConnection = std::function<void(std::unique_ptr<Connection>)>;

  Core(EventLoop& loop, base::Log log, Fd fd, OnConnection on_connection, AcceptOptions options)
      : loop_(loop),
        log_(std::move(log)),
        fd_(std::move(fd)),
        options_(std::move(options)),
        on_connection_(std::make_shared<OnConnection>(std::move(on_connection))) {}

  void begin() {
    watch_ = loop_.watch(fd_.get(), kReadable, [weak = weak_from_this()](std::uint32_t) {
      if (const auto self = weak.lock()) self->accept_some();
    });
  }

  void stop() {
    stopped_ = true;
    watch_.cancel();
    pause_.cancel();
    handshakes_.clear();
    fd_.reset();
    on_connection_.reset();  // one that runs just now is kept by its caller
  }

 private:
  using Handshakes = std::list<std::unique_ptr<Handshake>>;

  // One of connections_max: held by the handshake, then by the connection, until its descriptor is closed.
  struct Place {
    explicit Place(std::shared_ptr<Core> c) : core(c) { ++c->open_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      if (const auto held = core.lock()) held->left();
    }
    std::weak_ptr<Core> core;
  };

  void left() {
    --open_;
    if (!stopped_ && !pause_.armed()) watch_.want(kReadable);
  }

  void accept_some() {
    for (int accepted = 0; accepted < kAcceptsPerTurn && !stopped_; ++accepted) {
      if (open_ >= options_.connections_max) {
        log_.warn("no more connections are accepted until one closes", {{"connections", open_}});
        return watch_.want(0);
      }
      SocketAddress from;
      from.size = sizeof from.storage;
      Fd fd(accept4(fd_.get(), reinterpret_cast<sockaddr*>(&from.storage), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) {
        const int error = errno;
        if (error == EAGAIN || error == EWOULDBLOCK) return;
        if (of_one_connection(error)) continue;
        const std::string_view hint = out_of_resources(error) ? "raise the limit of open files" : "none";
        log_.error("accepting a connection failed; it is tried again after a pause",
                   {{"error", base::fail_errno(error, "accept").error()}, {"hint", hint}});
        watch_.want(0);
        pause_ = loop_.after(kAcceptPause, [this] { watch_.want(kReadable); });
        return;
      }
      welcome(std::move(fd), from);
    }
  }

  void welcome(Fd fd, const SocketAddress& from) {
    Peer peer = peer_of(fd.get(), from);
    auto place = std::make_shared<Place>(shared_from_this());
    if (from.family() != AF_UNIX) {
      const int on = 1;
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    if (!options_.tls) {
      auto plain = make_plain_channel(std::move(fd), peer.address);
      return hand_over(std::move(plain), std::move(peer), std::move(place));
    }
    auto channel = make_tls_server_channel(std::move(fd), peer.address, *options_.tls);
    if (const auto& problem = options_.tls->context().problem(); !problem.empty()) {
      log_.warn("changed TLS files are not used yet; the ones read before stay in force", {{"problem", problem}});
    }
    if (!channel) {
      log_.error("a TLS connection cannot be made", {{"error", channel.error()}});
      return;
    }
    const auto at = handshakes_.emplace(handshakes_.end());
    *at = std::make_unique<Handshake>(
        loop_, std::move(*channel), peer.address, options_.handshake_limit,
        [this, at, peer, place = std::move(place)](Result<std::unique_ptr<Channel>> result) mutable {
          // The handshake, and with it this callback's owner, goes at the end of the block.
          const auto self = shared_from_this();
          Handshakes finished;
          finished.splice(finished.begin(), handshakes_, at);
          if (!result) {
            // Probes of load balancers connect and leave; everything else is worth a look.
            if (result.error().kind == ErrorKind::kUnavailable) {
              log_.debug("a TLS handshake was broken off", {{"error", result.error()}});
            } else {
              log_.warn("a TLS handshake failed", {{"error", result.error()}});
            }
            return;
          }
          hand_over(std::move(*result), std::move(peer), std::move(place));
        });
  }

  void hand_over(std::unique_ptr<Channel> channel, Peer peer, std::shared_ptr<Place> place) {
    channel->describe(peer);
    const auto on_connection = on_connection_;
    (*on_connection)(make_socket_connection(loop_, std::move(channel), std::move(peer), std::move(place)));
  }

  EventLoop& loop_;
  base::Log log_;
  Fd fd_;
  AcceptOptions options_;
  std::shared_ptr<OnConnection> on_connection_;
  FdWatch watch_;
  Timer pause_;
  Handshakes handshakes_;
  std::size_t open_ = 0;
  bool stopped_ = false;
};

class SocketListener final : public Listener {
 public:
  SocketListener(std::shared_ptr<Core> core, SocketAddress address) : core_(std::move(core)), address_(address) {
    if (address_.family() == AF_UNIX && lstat(path(), &file_) != 0) file_ = {};
  }
  ~SocketListener() override {
    core_->stop();
    // Only our own file: another process may have taken the path since.
    struct stat now{};
    if (address_.family() == AF_UNIX && lstat(path(), &now) == 0 && now.st_ino == file_.st_ino &&
        now.st_dev == file_.st_dev) {
      unlink(path());
    }
  }
  SocketListener(const SocketListener&) = delete;
  SocketListener& operator=(const SocketListener&) = delete;

  std::string address() const override { return address_.text(); }
  std::uint16_t port() const override { return address_.port(); }

 private:
  const char* path() const { return reinterpret_cast<const sockaddr_un*>(&address_.storage)->sun_path; }

  std::shared_ptr<Core> core_;
  SocketAddress address_;
  struct stat file_{};
};

// A socket file without a listener refuses connections. Anything else at that path is not ours to remove.
Result<void> remove_stale(const SocketAddress& address, const char* path) {
  struct stat status{};
  if (lstat(path, &status) != 0)
    return errno == ENOENT ? Result<void>() : base::fail_errno(errno, base::cat("looking at ", path));
  if (!S_ISSOCK(status.st_mode)) return fail(ErrorKind::kAlreadyExists, path, " exists and is not a socket");
  const Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return base::fail_errno(errno, "making a socket");
  if (connect(probe.get(), address.get(), address.size) == 0 || errno != ECONNREFUSED) {
    return fail(ErrorKind::kAlreadyExists, path, " belongs to a process that runs; stop it, or choose another path");
  }
  if (unlink(path) != 0 && errno != ENOENT)
    return base::fail_errno(errno, base::cat("removing the stale socket ", path));
  return {};
}

Result<Fd> bind_socket(SocketAddress address, unsigned unix_mode, std::string_view text) {
  Fd fd(socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return base::fail_errno(errno, base::cat("making a socket for ", text));
  const int on = 1;
  const int off = 0;
  if (address.family() != AF_UNIX) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // "[::]" takes IPv4 too.
  if (address.family() == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd.get(), address.get(), address.size) != 0) {
    const int error = errno;
    auto failed = base::fail_errno(error, base::cat("listening on ", text)).error();
    if (error == EADDRINUSE) failed.kind = ErrorKind::kAlreadyExists;
    if (error == EACCES || error == EPERM) failed.kind = ErrorKind::kDenied;
    return std::unexpected(std::move(failed));
  }
  // Between bind and listen no client can connect, so there is no moment with a wider mode.
  const char* path = reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path;
  if (address.family() == AF_UNIX && chmod(path, unix_mode) != 0) {
    return base::fail_errno(errno, base::cat("setting the mode of ", path));
  }
  if (listen(fd.get(), kBacklog) != 0) return base::fail_errno(errno, base::cat("listening on ", text));
  return fd;
}

}  // namespace

Result<Fd> listen_socket(std::string_view address, unsigned unix_mode) {
  TM_TRY(SocketAddress wanted, listen_address(address));
  if (wanted.family() == AF_UNIX) {
    TM_TRY_VOID(remove_stale(wanted, reinterpret_cast<const sockaddr_un*>(&wanted.storage)->sun_path));
  }
  auto bound = bind_socket(wanted, unix_mode, address);
  // ":80" on a machine without IPv6.
  if (!bound && bound.error().code == EAFNOSUPPORT && address.starts_with(':')) {
    wanted = *ip_address("0.0.0.0", wanted.port());
    bound = bind_socket(wanted, unix_mode, address);
  }
  return bound;
}

std::unique_ptr<Listener> accept_on(Fd socket, EventLoop& loop, base::Log log,
                                    std::function<void(std::unique_ptr<Connection>)> on_connection,
                                    AcceptOptions options) {
  SocketAddress address;
  address.size = sizeof address.storage;
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size);
  auto core =
      std::make_shared<Core>(loop, std::move(log), std::move(socket), std::move(on_connection), std::move(options));
  core->begin();
  return std::make_unique<SocketListener>(std::move(core), address);
}

Result<std::unique_ptr<Listener>> listen_on(EventLoop& loop, base::Log log, std::string_view address,
                                            std::function<void(std::unique_ptr<Connection>)> on_connection,
                                            AcceptOptions options, unsigned unix_mode) {
  TM_TRY(Fd socket, listen_socket(address, unix_mode));
  return accept_on(std::move(socket), loop, std::move(log), std::move(on_connection), std::move(options));
}

}  // namespace tidemark::net
