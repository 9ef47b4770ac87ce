// Calls to one Hadoop server over one connection that is kept: many at once, each with its limit, answers in any order.
//
// The connection is made when first needed and again after it broke. While a server is unreachable, calls fail at once,
// except for a retry from time to time (with jitter). Pending calls fail if the connection breaks: the server may have
// executed them, and the caller knows whether a repetition is safe.
//
// One loop's thread. The client must outlive its calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/random.h"
#include "base/result.h"
#include "hadoop/gss.h"
#include "hadoop/rpc_frames.h"
#include "hadoop/secure_connection.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::hadoop {

struct Address {
  std::string host;
  std::uint16_t port = 0;
  auto operator<=>(const Address&) const = default;
  std::string text() const;
};

struct RpcConfig {
  Address server;
  std::string protocol;  // what the connection is opened for: a server with service-level authorization judges by it
  Identity identity;
  std::optional<Security> security{};  // Kerberos; then `gss` is there, and a server without it is refused
  std::shared_ptr<Gss> gss{};
  base::Duration connect_limit = std::chrono::seconds(10);
  base::BackoffConfig reconnect = {.initial = std::chrono::milliseconds(200), .max = std::chrono::seconds(15)};
};

class RpcClient {
 public:
  // `workers` look names up; without them an address is numbers or localhost.
  RpcClient(net::EventLoop& loop, net::WorkerPool* workers, RpcConfig config, base::Random random);
  ~RpcClient();
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;

  // The bytes of the response. `limit` counts from here, a connection that is to be made included.
  net::Task<Result<std::string>> call(Method method, std::string request, base::Duration limit);

  const Address& server() const { return config_.server; }
  std::uint64_t connections_made() const { return connections_made_; }
  std::uint64_t calls_made() const { return calls_made_; }

 private:
  using Waiting = net::OneShot<Result<std::string>>;

  net::Task<Result<std::string>> try_call(Method method, std::string request, base::Duration limit);
  net::Task<Result<void>> connected(base::Duration limit);
  net::Task<void> connect();
  net::Task<Result<std::unique_ptr<net::Connection>>> make_connection();
  Identity caller() const;
  bool on_data(std::string_view bytes);
  void on_answer(const Answer& answer);
  void lost(Error why);

  net::EventLoop& loop_;
  net::WorkerPool* workers_;
  const RpcConfig config_;
  base::Random random_;
  const std::string client_id_;
  base::Backoff backoff_;
  std::unique_ptr<net::Connection> connection_;
  FrameReader frames_;
  std::map<std::int32_t, Waiting*> on_their_way_;
  std::int32_t last_call_ = -1;
  base::MonotonicTime heard_;       // when bytes came last
  base::MonotonicTime not_before_;  // the next try to connect
  bool connecting_ = false;
  std::optional<Error> why_not_;  // what the last connection ended with
  net::Event settled_;            // a try to connect has ended
  std::uint64_t connections_made_ = 0;
  std::uint64_t calls_made_ = 0;
  net::Scope scope_;
};

}  // namespace tidemark::hadoop
