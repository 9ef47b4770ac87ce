#include "net/connection.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/testing/clock.h"
#include "net/address.h"
#include "net/channel.h"
#include "net/socket_connection.h"
#include "net/testing/certificates.h"
#include "net/testing/endpoint.h"
#include "net/testing/loop.h"

namespace tidemark::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Endpoint;

enum class Kind { kTcp, kUnix, kTls };

class ConnectionTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/tidemark-net-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    std::shared_ptr<TlsServerContext> server_tls;
    if (GetParam() == Kind::kTls) {
      const testing::TestAuthority authority(clock_.wall());
      server_tls = *make_tls_server_context(authority.server_config(), clock_);
      client_tls_ = *make_tls_client_context(authority.client_config(), clock_);
    }
    const std::string address = GetParam() == Kind::kUnix ? folder_ + "/s" : "127.0.0.1:0";
    auto listener =
        listen_on(loop_, log_, GetParam() == Kind::kUnix ? "unix:" + address : address,
                  [this](std::unique_ptr<Connection> c) { accepted_.push_back(std::move(c)); }, {.tls = server_tls});
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = std::move(*listener);
    url_.scheme = GetParam() == Kind::kUnix ? "unix" : GetParam() == Kind::kTls ? "https" : "http";
    url_.host = GetParam() == Kind::kUnix ? address : "127.0.0.1";
    url_.port = listener_->port();

    auto connected = testing::run_task(loop_, connect(loop_, nullptr, url_, client_tls_, seconds(10)));
    ASSERT_TRUE(connected) << connected.error().message;
    client_.attach(std::move(*connected));
    ASSERT_TRUE(until([&] { return accepted_.size() == 1; }));
    server_.attach(std::move(accepted_[0]));
  }
  void TearDown() override {
    listener_.reset();
    if (!folder_.empty()) rmdir(folder_.c_str());
  }

  template <class Condition>
  bool until(Condition&& condition) {
    return testing::run_real_until(loop_, condition);
  }

  base::SystemClock clock_;
  EventLoop loop_{clock_};
  base::Log log_{clock_, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::string folder_;
  std::shared_ptr<TlsClientContext> client_tls_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Connection>> accepted_;
  Url url_;
  Endpoint client_;
  Endpoint server_;
};

INSTANTIATE_TEST_SUITE_P(All, ConnectionTest, ::testing::Values(Kind::kTcp, Kind::kUnix, Kind::kTls),
                         [](const auto& param) {
                           return param.param == Kind::kTcp ? "Tcp" : param.param == Kind::kUnix ? "Unix" : "Tls";
                         });

TEST_P(ConnectionTest, BytesGoBothWaysAndBothSidesAgreeOnTheProtocol) {
  client_.connection->write("ping");
  client_.connection->write(make_buffer(std::string(100'000, 'x')));
  client_.connection->write("!");
  server_.connection->write("pong");
  EXPECT_EQ(client_.connection->queued(), 100'005U);
  ASSERT_TRUE(until([&] { return server_.got.size() == 100'005 && client_.got.size() == 4; }));
  EXPECT_EQ(server_.got, "ping" + std::string(100'000, 'x') + "!");
  EXPECT_EQ(client_.got, "pong");
  EXPECT_EQ(client_.connection->queued(), 0U);
  ASSERT_TRUE(until([&] { return client_.drained > 0 && server_.drained == 1; }));
  const std::string_view expected = GetParam() == Kind::kTls ? "h2" : "";
  EXPECT_EQ(client_.connection->alpn(), expected);
  EXPECT_EQ(server_.connection->alpn(), expected);
}

TEST_P(ConnectionTest, TheServerKnowsItsPeer) {
  const Peer& peer = server_.connection->peer();
  if (GetParam() == Kind::kUnix) {
    EXPECT_EQ(peer.address, "unix");
    ASSERT_TRUE(peer.unix_credentials);
    EXPECT_EQ(peer.unix_credentials->pid, getpid());
    EXPECT_EQ(peer.unix_credentials->uid, getuid());
    EXPECT_EQ(peer.unix_credentials->gid, getgid());
  } else {
    EXPECT_EQ(peer.address.substr(0, 10), "127.0.0.1:");
    EXPECT_FALSE(peer.unix_credentials);
  }
  EXPECT_FALSE(peer.certificate_common_name);
}

// Sends `total` bytes of a pattern, keeping at most kWindow in the queue, and checks a pattern that it reads with
// pauses.
struct Mover {
  static constexpr std::size_t kWindow = 256 * 1024;
  static constexpr std::size_t kPiece = 24 * 1000;
  static char at(std::size_t position) { return static_cast<char>('a' + position % 23); }

  Mover(Endpoint& e, EventLoop& l, std::size_t t) : endpoint(e), loop(l), total(t) {
    endpoint.on_drained = [this] { send(); };
    endpoint.on_data = [this](std::string_view bytes) {
      for (std::size_t i = 0; i < bytes.size(); ++i) intact = intact && bytes[i] == at(received + i);
      received += bytes.size();
      endpoint.got.clear();
      // A slow reader: after each megabyte it rests for some rounds of the loop.
      if (received / (1 << 20) == rested) return true;
      rested = received / (1 << 20);
      rest(5);
      return false;
    };
    send();
  }
  void rest(int rounds) {
    if (rounds == 0) return endpoint.connection->resume_reading();
    loop.post([this, rounds] { rest(rounds - 1); });
  }
  void send() {
    while (sent < total && endpoint.connection->queued() < kWindow) {
      std::string piece(std::min(kPiece, total - sent), '\0');
      for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = at(sent + i);
      sent += piece.size();
      endpoint.connection->write(make_buffer(std::move(piece)));
    }
    queued_most = std::max(queued_most, endpoint.connection->queued());
  }

  Endpoint& endpoint;
  EventLoop& loop;
  std::size_t total;
  std::size_t sent = 0;
  std::size_t received = 0;
  std::size_t rested = 0;
  std::size_t queued_most = 0;
  bool intact = true;
};

TEST_P(ConnectionTest, SixtyFourMegabytesBothWaysAtOnceWithSlowReadersStayBounded) {
  constexpr std::size_t kTotal = 64 * 1024 * 1024;
  Mover client(client_, loop_, kTotal);
  Mover server(server_, loop_, kTotal);
  ASSERT_TRUE(until([&] { return client.received == kTotal && server.received == kTotal; }));
  EXPECT_TRUE(client.intact);
  EXPECT_TRUE(server.intact);
  EXPECT_LE(client.queued_most, Mover::kWindow + Mover::kPiece);
  EXPECT_LE(server.queued_most, Mover::kWindow + Mover::kPiece);
}

TEST_P(ConnectionTest, AReaderThatPausesGetsNothingUntilItResumesAndLosesNothing) {
  server_.on_data = [](std::string_view) { return false; };
  const std::string text(200'000, 'y');
  client_.connection->write(text);
  ASSERT_TRUE(until([&] { return !server_.got.empty(); }));
  const std::size_t first = server_.got.size();
  loop_.run_ready();
  EXPECT_EQ(server_.got.size(), first);
  server_.on_data = nullptr;
  server_.connection->resume_reading();
  ASSERT_TRUE(until([&] { return server_.got.size() == text.size(); }));
}

TEST_P(ConnectionTest, APausedReaderHoldsTheWriterBack) {
  server_.on_data = [](std::string_view) { return false; };
  std::size_t sent = 0;
  const auto send = [&] {
    while (client_.connection->queued() < 64 * 1024) {
      client_.connection->write(std::string(16 * 1024, 'z'));
      sent += 16 * 1024;
    }
  };
  client_.on_drained = send;
  send();
  loop_.run_ready();
  // What the kernel takes for a reader that does not read, and no more.
  EXPECT_LT(sent, 64U * 1024 * 1024);
  EXPECT_GT(client_.connection->queued(), 0U);
}

TEST_P(ConnectionTest, CloseAfterWriteSendsEverythingFirst) {
  const std::string text(3'000'000, 'q');
  server_.connection->write(text);
  server_.connection->close_after_write();
  server_.connection->write("not any more");
  client_.on_end = [&] { client_.connection.reset(); };
  ASSERT_TRUE(until([&] { return client_.ends == 1 && server_.ends == 1; }));
  EXPECT_EQ(client_.got, text);
  EXPECT_FALSE(client_.error) << client_.error->message;
  EXPECT_FALSE(server_.error) << server_.error->message;
}

TEST_P(ConnectionTest, AConnectionDestroyedAfterItsCloseStillSends) {
  const std::string text(3'000'000, 'q');
  server_.connection->write(text);
  server_.connection->close_after_write();
  server_.connection.reset();
  client_.on_end = [&] { client_.connection.reset(); };
  ASSERT_TRUE(until([&] { return client_.ends == 1; }));
  EXPECT_EQ(client_.got.size(), text.size());
  EXPECT_FALSE(client_.error);
}

TEST_P(ConnectionTest, AnAnswerArrivesThoughItsReaderStillSends) {
  client_.connection->write(std::string(2'000'000, 'u'));
  server_.on_data = [&](std::string_view) {
    server_.on_data = nullptr;
    server_.connection->write("too much");
    server_.connection->close_after_write();
    return true;
  };
  ASSERT_TRUE(until([&] { return client_.ends == 1; }));
  EXPECT_EQ(client_.got, "too much");
  EXPECT_FALSE(client_.error);
}

TEST_P(ConnectionTest, WritingGoesOnAfterTheEndOfThePeersStream) {
  client_.connection->close_after_write();
  ASSERT_TRUE(until([&] { return server_.ends == 1; }));
  EXPECT_FALSE(server_.error);
  server_.connection->write("late");
  server_.connection->close_after_write();
  server_.connection.reset();
  ASSERT_TRUE(until([&] { return client_.ends == 1; }));
  EXPECT_EQ(server_.ends, 1);
}

TEST_P(ConnectionTest, AnOwnerMayDestroyItInOnData) {
  server_.on_data = [&](std::string_view) {
    server_.connection.reset();
    return true;
  };
  client_.connection->write(std::string(100'000, 'x'));
  ASSERT_TRUE(until([&] { return !server_.connection && client_.ends == 1; }));
  EXPECT_EQ(server_.ends, 0);
}

TEST_P(ConnectionTest, AnOwnerMayDestroyItInOnDrained) {
  client_.on_drained = [&] { client_.connection.reset(); };
  client_.connection->write("x");
  ASSERT_TRUE(until([&] { return !client_.connection && server_.ends == 1; }));
  EXPECT_EQ(client_.ends, 0);
}

TEST_P(ConnectionTest, AnOwnerMayDestroyItInOnEnd) {
  client_.on_end = [&] { client_.connection.reset(); };
  server_.connection->close_after_write();
  ASSERT_TRUE(until([&] { return !client_.connection; }));
}

TEST_P(ConnectionTest, AnOwnerMayDestroyTheOtherEndInACallback) {
  server_.on_data = [&](std::string_view) {
    client_.connection.reset();
    return true;
  };
  client_.connection->write("x");
  ASSERT_TRUE(until([&] { return server_.ends == 1; }));
}

TEST_P(ConnectionTest, APeerThatVanishesIsAnErrorUnderTlsOnly) {
  client_.connection.reset();
  ASSERT_TRUE(until([&] { return server_.ends == 1; }));
  EXPECT_EQ(server_.error.has_value(), GetParam() == Kind::kTls);
  if (server_.error) EXPECT_EQ(server_.error->kind, ErrorKind::kUnavailable);
}

TEST_P(ConnectionTest, WritingToAPeerThatIsGoneIsAnErrorAndNoSignal) {
  server_.on_data = [](std::string_view) { return false; };
  client_.connection->write("stop reading");
  ASSERT_TRUE(until([&] { return !server_.got.empty(); }));
  client_.connection.reset();
  loop_.run_ready();
  for (int i = 0; i < 3 && server_.ends == 0; ++i) {
    server_.connection->write(std::string(100'000, 'x'));
    loop_.run_ready();
  }
  ASSERT_TRUE(until([&] { return server_.ends == 1; }));
  ASSERT_TRUE(server_.error);
  EXPECT_EQ(server_.error->kind, ErrorKind::kUnavailable);
  EXPECT_EQ(server_.connection->queued(), 0U);
}

TEST_P(ConnectionTest, WhatThePeerSaidBeforeItWentIsReadThoughWritingFails) {
  // The server stops reading, answers, and closes over what it did not read: the client's writes meet a reset.
  server_.on_data = [&](std::string_view) {
    server_.on_data = nullptr;
    server_.connection->write("because");
    return false;
  };
  server_.on_drained = [&] { server_.connection.reset(); };
  client_.connection->write(std::string(20'000'000, 'u'));
  ASSERT_TRUE(until([&] { return client_.ends == 1; }));
  EXPECT_EQ(client_.got, "because");
  EXPECT_TRUE(client_.error);
  EXPECT_EQ(client_.connection->queued(), 0U);
}

Peer deaf_peer() {
  Peer peer;
  peer.address = "deaf";
  return peer;
}

TEST(ConnectionClosing, APeerThatNeverTakesTheLastBytesIsGivenUp) {
  base::testing::Clock simulated;
  EventLoop loop(simulated);
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  const Fd deaf(fds[1]);
  Endpoint endpoint(make_socket_connection(loop, make_plain_channel(Fd(fds[0]), "deaf"), deaf_peer(), nullptr));
  endpoint.connection->write(std::string(10'000'000, 'u'));
  endpoint.connection->close_after_write();
  testing::run_for(loop, simulated, std::chrono::milliseconds(9'999));
  EXPECT_EQ(endpoint.ends, 0);
  testing::run_for(loop, simulated, std::chrono::milliseconds(1));
  ASSERT_EQ(endpoint.ends, 1);
  ASSERT_TRUE(endpoint.error);
  EXPECT_EQ(endpoint.error->kind, ErrorKind::kDeadline);
}

TEST(ConnectionClosing, ALoopMayEndWhileConnectionsCloseInTheBackground) {
  base::testing::Clock simulated;
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  const Fd deaf(fds[1]);
  const auto place = std::make_shared<int>(0);
  {
    EventLoop loop(simulated);
    auto connection = make_socket_connection(loop, make_plain_channel(Fd(fds[0]), "deaf"), deaf_peer(), place);
    connection->write(std::string(10'000'000, 'u'));
    connection->close_after_write();
    connection.reset();
    loop.run_ready();
    EXPECT_EQ(place.use_count(), 2);
  }
  EXPECT_EQ(place.use_count(), 1);
}

TEST_P(ConnectionTest, AListenerDestroyedLeavesItsConnectionsAlive) {
  listener_.reset();
  client_.connection->write("still here");
  ASSERT_TRUE(until([&] { return server_.got == "still here"; }));
}

class ConnectTest : public ::testing::Test {
 protected:
  // A TCP listener with a full queue: it answers no further SYN.
  void fill(const SocketAddress& address) {
    listening_ = Fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(listening_.get(), address.get(), address.size), 0);
    ASSERT_EQ(listen(listening_.get(), 0), 0);
    bound_.size = sizeof bound_.storage;
    ASSERT_EQ(getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&bound_.storage), &bound_.size), 0);
    for (int i = 0; i < 3; ++i) {
      Fd fd(socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      (void)!::connect(fd.get(), bound_.get(), bound_.size);
      fillers_.push_back(std::move(fd));
    }
  }

  base::testing::Clock clock_;
  EventLoop loop_{clock_};
  Fd listening_;
  SocketAddress bound_;
  std::vector<Fd> fillers_;
};

TEST_F(ConnectTest, ARefusedConnectionNamesTheAddress) {
  Fd unused(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = *ip_address("127.0.0.1", 0);
  ASSERT_EQ(bind(unused.get(), address.get(), address.size), 0);
  address.size = sizeof address.storage;
  ASSERT_EQ(getsockname(unused.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size), 0);
  const Url url{"http", "127.0.0.1", address.port(), ""};
  const auto result = testing::run_task(loop_, connect(loop_, nullptr, url, nullptr, seconds(10)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(result.error().code, ECONNREFUSED);
  EXPECT_NE(result.error().message.find(address.text()), std::string::npos) << result.error().message;
}

TEST_F(ConnectTest, AnAddressThatSwallowsPacketsEndsWithTheLimit) {
  fill(*ip_address("127.0.0.1", 0));
  const Url url{"http", "127.0.0.1", bound_.port(), ""};
  const auto start = clock_.monotonic();
  const auto result = testing::run_task(loop_, clock_, connect(loop_, nullptr, url, nullptr, seconds(10)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(clock_.monotonic() - start, seconds(10));
}

TEST_F(ConnectTest, AFullUnixSocketIsTriedAgainUntilTheLimit) {
  char folder[] = "/tmp/tidemark-net-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/full";
  fill(*unix_address(path));
  const Url url{"unix", path, 0, ""};
  const auto start = clock_.monotonic();
  const auto result = testing::run_task(loop_, clock_, connect(loop_, nullptr, url, nullptr, seconds(1)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kDeadline);
  EXPECT_LE(clock_.monotonic() - start, seconds(1));
  unlink(path.c_str());
  rmdir(folder);
}

TEST_F(ConnectTest, TheNextAddressOfANameIsTried) {
  base::Log log(clock_, {});
  bool accepted = false;
  // "localhost" is 127.0.0.1 first, where nothing listens on this port.
  auto listener = listen_on(loop_, log, "[::1]:0", [&](auto) { accepted = true; });
  if (!listener) GTEST_SKIP() << "no IPv6 loopback here: " << listener.error().message;
  EXPECT_EQ((*listener)->address(), base::cat("[::1]:", (*listener)->port()));
  const Url url{"http", "localhost", (*listener)->port(), ""};
  const auto result = testing::run_task(loop_, connect(loop_, nullptr, url, nullptr, seconds(10)));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(testing::run_real_until(loop_, [&] { return accepted; }));
}

TEST_F(ConnectTest, ANameIsResolvedByAWorker) {
  base::Log log(clock_, {});
  WorkerPool workers(1, 4);
  bool accepted = false;
  auto listener = *listen_on(loop_, log, "127.0.0.1:0", [&](auto) { accepted = true; });
  // Not an address in the usual form, so it goes to the resolver, which knows the old short one without a network.
  const Url url{"http", "127.1", listener->port(), ""};
  const auto result = testing::run_task(loop_, connect(loop_, &workers, url, nullptr, seconds(10)));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(testing::run_real_until(loop_, [&] { return accepted; }));
  const auto refused = testing::run_task(loop_, connect(loop_, nullptr, url, nullptr, seconds(10)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
}

TEST_F(ConnectTest, DestroyedWhileItConnectsItClosesItsSocket) {
  fill(*ip_address("127.0.0.1", 0));
  const Url url{"http", "127.0.0.1", bound_.port(), ""};
  Scope scope(loop_);
  bool done = false;
  const auto wait = [&]() -> Task<void> {
    (void)co_await connect(loop_, nullptr, url, nullptr, seconds(10));
    done = true;
  };
  const auto lowest_free_number = [&] { return Fd(dup(listening_.get())).get(); };
  const int before = lowest_free_number();
  scope.spawn(wait());
  loop_.run_ready();
  scope.clear();
  EXPECT_FALSE(done);
  EXPECT_FALSE(loop_.next_timer());
  EXPECT_EQ(lowest_free_number(), before);
}

TEST_F(ConnectTest, AddressesAreReadStrictly) {
  EXPECT_EQ(listen_address("127.0.0.1:80")->text(), "127.0.0.1:80");
  EXPECT_EQ(listen_address("[::1]:8080")->text(), "[::1]:8080");
  EXPECT_EQ(listen_address(":9090")->text(), "[::]:9090");
  EXPECT_EQ(listen_address("localhost:1")->text(), "127.0.0.1:1");
  EXPECT_EQ(listen_address("unix:/run/x.sock")->text(), "unix:/run/x.sock");
  for (const char* bad : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "example.org:80",
                          "unix:", "[::1]", "127.0.0.1:80 "}) {
    EXPECT_FALSE(listen_address(bad)) << bad;
  }
  EXPECT_FALSE(unix_address(std::string(108, 'x')));
  EXPECT_TRUE(unix_address(std::string(107, 'x')));
}

}  // namespace
}  // namespace tidemark::net
