// What the two protocols of the client share. Internal to net/.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "net/connection.h"
#include "net/http_client.h"

namespace tidemark::net {

// An answer as it comes in. The connection writes it, a stream reads it; either may be gone before the other.
struct ClientExchange {
  explicit ClientExchange(EventLoop& loop) : changed(loop) {}

  Event changed;
  std::optional<HttpResponseHead> head;
  std::string pending;  // of the body, not read yet
  bool complete = false;
  std::optional<Error> error;
  bool unprocessed = false;  // with an error: the server has not looked at the request
  bool stale = false;        // with an error: a connection kept from before ended without a byte of an answer
  std::int32_t stream = 0;   // of HTTP/2
  // Of HTTP/2, on a connection that had answered before: the bytes it had received when the request was sent.
  std::optional<std::uint64_t> sent_after;

  void end_with(Error why) {
    if (complete || error) return;
    error = std::move(why);
    changed.set();
  }
};

struct ClientConnectionConfig {
  std::string scheme;
  std::string authority;  // for Host and :authority
  HttpLimits limits;
  base::Duration ping_interval{};
  base::Duration ping_timeout{};
};

class ClientConnection {
 public:
  virtual ~ClientConnection() = default;
  // How many requests it can take now.
  virtual std::size_t room() const = 0;
  // It will have room again some day.
  virtual bool lasting() const = 0;
  // Its room is what the server allows, not a guess from before the server has said so.
  virtual bool settled() const = 0;
  // It has no requests.
  virtual bool idle() const = 0;
  // Only while there is room.
  virtual std::shared_ptr<ClientExchange> send(const HttpRequest& head, Buffer body) = 0;
  // The reader took `bytes` of pending.
  virtual void consumed(ClientExchange& exchange, std::size_t bytes) = 0;
  // The reader is gone; what is left of the exchange is cancelled.
  virtual void release(const std::shared_ptr<ClientExchange>& exchange) = 0;
  // Takes no new requests, and ends when it has none left.
  virtual void retire() = 0;
  // At once; its exchanges end with `why`.
  virtual void close(Error why) = 0;

  // Called by the connection, from its callbacks: there is room again, or it has ended (then no further calls).
  struct Listener {
    std::function<void()> on_room;
    std::function<void()> on_ended;
  };
};

std::shared_ptr<ClientConnection> make_client_http1(EventLoop& loop, std::unique_ptr<Connection> connection,
                                                    ClientConnectionConfig config, ClientConnection::Listener listener);
std::shared_ptr<ClientConnection> make_client_http2(EventLoop& loop, std::unique_ptr<Connection> connection,
                                                    ClientConnectionConfig config, ClientConnection::Listener listener);

// Coroutines that wait for their turn, first come, first served. Being called is a hint: look again, and wait again.
class WaitLine {
 public:
  explicit WaitLine(EventLoop& loop) : loop_(loop) {}

  // False when the time ran out.
  Task<bool> wait(base::Duration limit) {
    Place place(*this);
    const bool called = co_await place.called.wait_for(limit);
    place.left = true;
    co_return called;
  }
  void call(std::size_t count) {
    for (Place* place : waiting_) {
      if (count-- == 0) break;
      place->called.set();
    }
  }
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Place {
    WaitLine& line;
    Event called;
    bool left = false;
    std::list<Place*>::iterator at;
    explicit Place(WaitLine& l) : line(l), called(l.loop_), at(l.waiting_.insert(l.waiting_.end(), this)) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // A waiter that is destroyed before it runs passes its wake-up on.
    ~Place() {
      line.waiting_.erase(at);
      if (called.is_set() && !left) line.call(1);
    }
  };
  EventLoop& loop_;
  std::list<Place*> waiting_;
};

}  // namespace tidemark::net
