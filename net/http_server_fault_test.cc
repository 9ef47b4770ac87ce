// The server against clients that send nonsense, send slowly, do not read, or go away.
#include <gtest/gtest.h>

#include "base/text.h"
#include "net/http2_session.h"
#include "net/http_server.h"
#include "net/testing/endpoint.h"
#include "net/testing/http.h"

namespace tidemark::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Endpoint;
using testing::get_request;
using testing::HttpPair;
using testing::Wire;

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) ++found;
  return found;
}

class HttpServerFaultTest : public ::testing::Test {
 protected:
  explicit HttpServerFaultTest(Wire wire = Wire::kClear) : pair(wire) {}

  void begin() {
    pair.begin([this](HttpExchange& exchange) -> Task<void> { return serve(exchange); });
  }

  Task<void> serve(HttpExchange& exchange) {
    struct Alive {
      int& count;
      ~Alive() { --count; }
    } alive{++handlers};
    ++served;
    if (exchange.head().target == "/wait") {
      co_await pair.loop.sleep(std::chrono::hours(1));
    } else if (exchange.head().target == "/no-body-wanted") {
      exchange.respond(403, "text/plain", "no");
    } else if (exchange.head().target == "/pieces") {
      exchange.start(200, {});
      (void)co_await exchange.write(make_buffer("a"), seconds(1));
      (void)co_await exchange.write(make_buffer("bc"), seconds(1));
    } else if (exchange.head().target == "/large") {
      exchange.respond(200, Headers{}, large);
    } else {
      auto body = co_await exchange.body(1 << 20);
      exchange.respond(body ? 200 : body.error().code, "text/plain", body ? "got " + *body : body.error().message);
    }
  }

  // A connection in the clear that only does what the test says.
  std::unique_ptr<Endpoint> raw() {
    auto connected =
        testing::run_task(pair.loop, connect(pair.loop, nullptr, pair.client_config.url, nullptr, seconds(10)));
    EXPECT_TRUE(connected) << connected.error().message;
    return std::make_unique<Endpoint>(std::move(*connected));
  }
  // What comes back until the server closes.
  std::string answer(std::string_view bytes) {
    const auto client = raw();
    client->connection->write(bytes);
    EXPECT_TRUE(pair.until([&] { return client->ends > 0; })) << bytes;
    return client->got;
  }
  static std::string status(std::string_view answer) { return std::string(answer.substr(0, 12)); }

  HttpPair pair;
  int handlers = 0;
  int served = 0;
  Buffer large = make_buffer(std::string(32 << 20, 'l'));
};

TEST_F(HttpServerFaultTest, NonsenseIsAnsweredAndClosed) {
  begin();
  const std::pair<const char*, const char*> cases[] = {
      {"\x16\x03\x01\x02\x01\x01", "HTTP/1.1 400"},
      {"GET / HTTP/1.1\nHost: h\n\n", "HTTP/1.1 400"},
      {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
      {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", "HTTP/1.1 505"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 505"},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       "HTTP/1.1 400"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 501"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400"},
      {"POST / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n", "HTTP/1.1 417"},
  };
  for (const auto& [bytes, wanted] : cases) {
    const std::string got = answer(bytes);
    EXPECT_EQ(status(got), wanted) << bytes;
    EXPECT_EQ(count(got, "HTTP/1.1 "), 1u) << bytes;
    EXPECT_NE(got.find("connection: close"), std::string::npos) << bytes;
  }
  EXPECT_TRUE(pair.until([&] { return pair.server->connections() == 0 && handlers == 0; }));
}

TEST_F(HttpServerFaultTest, AHeadWithoutEndIs431) {
  pair.server_config.limits.header_bytes_max = 2000;
  begin();
  EXPECT_EQ(status(answer("GET /" + std::string(3000, 'x'))), "HTTP/1.1 431");
  EXPECT_EQ(status(answer("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(3000, 'x'))), "HTTP/1.1 431");
  EXPECT_EQ(served, 0);
}

TEST_F(HttpServerFaultTest, SlowHeadsAre408) {
  pair.server_config.head_timeout = milliseconds(60);
  begin();
  EXPECT_EQ(status(answer("GET / HT")), "HTTP/1.1 408");
  EXPECT_EQ(status(answer("")), "HTTP/1.1 408");
  // A byte now and then does not move the deadline.
  const auto client = raw();
  std::string_view rest = "GET / HTTP/1.1\r\nHost: h\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy";
  while (client->ends == 0 && !rest.empty()) {
    client->connection->write(rest.substr(0, 1));
    rest.remove_prefix(1);
    bool over = false;
    const Timer pause = pair.loop.after(milliseconds(5), [&] { over = true; });
    pair.until([&] { return over || client->ends > 0; });
  }
  EXPECT_GT(client->ends, 0);
  EXPECT_EQ(status(client->got), "HTTP/1.1 408");
}

TEST_F(HttpServerFaultTest, AStandingBodyIs408) {
  pair.server_config.idle_timeout = milliseconds(60);
  begin();
  EXPECT_EQ(status(answer("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")), "HTTP/1.1 408");
}

TEST_F(HttpServerFaultTest, IdleConnectionsAreClosedWithoutAWord) {
  pair.server_config.idle_timeout = milliseconds(60);
  begin();
  const std::string got = answer("GET /pieces HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(count(got, "HTTP/1.1 "), 1u);
  EXPECT_EQ(status(got), "HTTP/1.1 200");
}

TEST_F(HttpServerFaultTest, PipelinedRequestsAreAnsweredInOrder) {
  begin();
  std::string requests;
  for (int i = 0; i < 1000; ++i) {
    const std::string body = base::cat("<", i, ">");
    requests += base::cat("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  }
  requests += "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  const std::string got = answer(requests);
  EXPECT_EQ(count(got, "HTTP/1.1 200"), 1001u);
  std::size_t at = 0;
  for (int i = 0; i < 1000; ++i) {
    at = got.find(base::cat("got <", i, ">"), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(HttpServerFaultTest, AsksAndDoesNotReadTheAnswers) {
  begin();
  const auto client = raw();
  client->on_data = [](std::string_view) { return false; };
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += "GET /large HTTP/1.1\r\nHost: h\r\n\r\n";
  client->connection->write(requests);
  EXPECT_TRUE(pair.until([&] { return served > 0; }));
  bool over = false;
  const Timer pause = pair.loop.after(milliseconds(200), [&] { over = true; });
  pair.until([&] { return over; });
  EXPECT_EQ(served, 1) << "the next request waits until the answer before it is read";
  EXPECT_LE(large.use_count(), 3);
}

TEST_F(HttpServerFaultTest, AClientThatNeverReadsIsClosed) {
  pair.server_config.idle_timeout = milliseconds(100);
  begin();
  const auto client = raw();
  client->on_data = [](std::string_view) { return false; };
  client->connection->write("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(pair.until([&] { return served == 1 && pair.server->connections() == 0; }));
  EXPECT_NE(pair.server->connections(), 1u);
}

TEST_F(HttpServerFaultTest, TheHandlerGoesWithItsClient) {
  begin();
  auto client = raw();
  client->connection->write("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(pair.until([&] { return handlers == 1; }));
  client.reset();
  EXPECT_TRUE(pair.until([&] { return handlers == 0 && pair.server->connections() == 0; }));

  client = raw();
  client->connection->write("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\npart of it");
  EXPECT_TRUE(pair.until([&] { return handlers == 1; }));
  client.reset();
  EXPECT_TRUE(pair.until([&] { return handlers == 0 && pair.server->connections() == 0; }));
}

TEST_F(HttpServerFaultTest, ExpectContinue) {
  begin();
  const auto client = raw();
  client->connection->write("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_TRUE(pair.until([&] { return client->got == "HTTP/1.1 100 Continue\r\n\r\n"; }));
  client->connection->write("abc");
  EXPECT_TRUE(pair.until([&] { return client->got.ends_with("got abc"); }));

  const std::string refused =
      answer("POST /no-body-wanted HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(status(refused), "HTTP/1.1 403") << "a rejected client is not asked for the body";
}

TEST_F(HttpServerFaultTest, Http10EndsWithTheConnection) {
  begin();
  const std::string got = answer("GET /pieces HTTP/1.0\r\n\r\n");
  EXPECT_EQ(got.find("transfer-encoding"), std::string::npos);
  EXPECT_TRUE(got.ends_with("\r\n\r\nabc"));
}

TEST_F(HttpServerFaultTest, ConnectionsAreBounded) {
  pair.server_config.connections_max = 3;
  begin();
  std::vector<std::unique_ptr<Endpoint>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(raw());
    clients.back()->connection->write("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  EXPECT_TRUE(pair.until([&] { return handlers == 3; }));
  clients.erase(clients.begin());
  EXPECT_TRUE(pair.until([&] { return served == 4; }));
  EXPECT_EQ(handlers, 3);
}

// --- HTTP/2 ---------------------------------------------------------------------------------------------------------

class Http2ServerFaultTest : public HttpServerFaultTest {
 protected:
  Http2ServerFaultTest() : HttpServerFaultTest(Wire::kHttp2) {}
  std::unique_ptr<Endpoint> raw_tls() {
    auto tls = make_tls_client_context(pair.client_config.tls, pair.clock);
    auto connected =
        testing::run_task(pair.loop, connect(pair.loop, nullptr, pair.client_config.url, *tls, seconds(10)));
    EXPECT_TRUE(connected) << connected.error().message;
    return std::make_unique<Endpoint>(std::move(*connected));
  }
};

TEST_F(Http2ServerFaultTest, GarbageAfterTheHandshakeIsClosed) {
  begin();
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\nHost: h\r\n\r\n"), std::string(1000, '\xff'),
                                   std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(100, '\xff')}) {
    const auto client = raw_tls();
    client->connection->write(bytes);
    EXPECT_TRUE(pair.until([&] { return client->ends > 0; }));
  }
  EXPECT_TRUE(pair.until([&] { return pair.server->connections() == 0; }));
}

TEST_F(Http2ServerFaultTest, HalfAPrefaceAndSilenceAreClosed) {
  pair.server_config.idle_timeout = milliseconds(60);
  begin();
  for (const char* bytes : {"", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
    const auto client = raw_tls();
    client->connection->write(std::string_view(bytes));
    EXPECT_TRUE(pair.until([&] { return client->ends > 0; })) << bytes;
  }
}

TEST_F(Http2ServerFaultTest, AFloodOfPingsIsClosed) {
  begin();
  const auto client = raw_tls();
  std::string flood = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
  for (int i = 0; i < 10'000; ++i) flood += std::string("\0\0\10\6\0\0\0\0\0pingping", 17);
  client->connection->write(flood);
  EXPECT_TRUE(pair.until([&] { return client->ends > 0 && pair.server->connections() == 0; }));
  EXPECT_NE(pair.lines.find("an HTTP/2 connection is closed"), std::string::npos);
}

TEST_F(Http2ServerFaultTest, AReaderThatStandsAfterTheHandlerIsGivenUp) {
  pair.server_config.idle_timeout = milliseconds(100);
  begin();
  auto stalled = pair.open(get_request("/large"));
  ASSERT_TRUE(stalled) << stalled.error().message;
  EXPECT_TRUE(pair.until([&] { return large.use_count() == 1; })) << "the answer is let go of";
  Result<std::optional<std::string>> piece = std::optional<std::string>("");
  while (piece && *piece) piece = pair.read(**stalled);
  EXPECT_FALSE(piece);
}

// What an API server does all day: one connection, thousands of watches, one event for all of them.
TEST_F(Http2ServerFaultTest, ThousandsOfWatchesShareEachEvent) {
  constexpr std::size_t kWatches = 2000;
  constexpr int kEvents = 20;
  std::vector<HttpExchange*> watches;
  Event event(pair.loop);
  int sent = 0;
  Buffer shared = make_buffer(std::string(500, 'e'));
  pair.begin([&](HttpExchange& exchange) -> Task<void> {
    exchange.start(200, {});
    watches.push_back(&exchange);
    for (int seen = 0; seen < kEvents;) {
      while (seen == sent) {
        event.clear();
        co_await event.wait();
      }
      for (; seen < sent; ++seen) {
        if (!co_await exchange.write(shared, seconds(60))) co_return;
      }
    }
  });
  std::vector<std::unique_ptr<HttpStream>> streams(kWatches);
  std::size_t opened = 0;
  std::size_t bytes = 0;
  std::size_t ended = 0;
  Scope scope(pair.loop);
  for (auto& stream : streams) {
    scope.spawn([](HttpClient& client, std::unique_ptr<HttpStream>& mine, std::size_t& open, std::size_t& got,
                   std::size_t& done) -> Task<void> {
      auto made = co_await client.open(get_request("/"), seconds(60));
      EXPECT_TRUE(made) << made.error().message;
      if (!made) co_return;
      mine = std::move(*made);
      ++open;
      for (;;) {
        const auto piece = co_await mine->read(seconds(60));
        EXPECT_TRUE(piece) << piece.error().message;
        if (!piece || !*piece) break;
        got += (*piece)->size();
      }
      ++done;
    }(*pair.client, stream, opened, bytes, ended));
  }
  ASSERT_TRUE(pair.until([&] { return opened == kWatches; }));
  EXPECT_EQ(pair.client->connections(), 1u);
  for (int i = 0; i < kEvents; ++i) {
    ++sent;
    event.set();
    ASSERT_TRUE(pair.until([&] { return bytes == static_cast<std::size_t>(sent) * kWatches * shared->size(); }));
  }
  EXPECT_TRUE(pair.until([&] { return ended == kWatches; }));
  EXPECT_EQ(shared.use_count(), 1);
}

TEST_F(Http2ServerFaultTest, ManyTlsConnections) {
  begin();
  constexpr int kClients = 300;
  std::vector<std::unique_ptr<HttpClient>> clients;
  int fine = 0;
  Scope scope(pair.loop);
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<HttpClient>(pair.loop, nullptr, pair.client_config));
    scope.spawn([](HttpClient& client, int& good) -> Task<void> {
      const auto response = co_await client.fetch(testing::post_request("/", "x"), seconds(60));
      good += response && response->body == "got x" ? 1 : 0;
      EXPECT_TRUE(response) << response.error().message;
    }(*clients.back(), fine));
  }
  EXPECT_TRUE(pair.until([&] { return fine == kClients; }));
  EXPECT_EQ(pair.server->connections(), static_cast<std::size_t>(kClients));
  clients.clear();
  EXPECT_TRUE(pair.until([&] { return pair.server->connections() == 0; }));
}

}  // namespace
}  // namespace tidemark::net
