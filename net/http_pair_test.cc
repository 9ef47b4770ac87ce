// Client and server together, over every wire they speak.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "net/http_client.h"
#include "net/http_client_connection.h"
#include "net/http_server.h"
#include "net/http_server_connection.h"
#include "net/testing/http.h"

namespace tidemark::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::get_request;
using testing::HttpPair;
using testing::post_request;
using testing::Wire;

constexpr std::size_t kBigBytes = 64 << 20;

// Not a constant byte, so that pieces in a wrong order are seen.
std::string pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

struct Alive {  // counts handlers that have not ended
  int& count;
  explicit Alive(int& c) : count(c) { ++count; }
  ~Alive() { --count; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
};

class HttpPairTest : public ::testing::TestWithParam<Wire> {
 protected:
  bool http2() const { return GetParam() == Wire::kHttp2; }

  // /echo answers the request; /stream sends "tick" for ever; /wait waits for ever; /big is kBigBytes long.
  HttpHandler handler() {
    return [this](HttpExchange& exchange) -> Task<void> { return serve(exchange); };
  }

  Task<void> serve(HttpExchange& exchange) {
    const Alive alive(handlers);
    ++served;
    const auto target = parse_target(exchange.head().target);
    if (!target) {
      exchange.respond(400, "text/plain", "target");
    } else if (target->path == "/echo") {
      auto body = co_await exchange.body(kBigBytes);
      Headers headers;
      headers.add("X-Method", exchange.head().method);
      headers.add("X-Target", exchange.head().target);
      headers.add("X-Host", exchange.head().headers.get("host"));
      headers.add("X-Encoding", exchange.head().headers.get("accept-encoding"));
      headers.add("X-Peer", exchange.peer().unix_credentials ? "unix" : exchange.peer().address);
      exchange.respond(body ? 200 : 413, std::move(headers),
                       make_buffer(body ? std::move(*body) : body.error().message));
    } else if (target->path == "/small") {
      const auto body = co_await exchange.body(1000);
      const int status = body ? 200 : body.error().code;
      exchange.respond(status, "text/plain", base::cat(status));
    } else if (target->path == "/ignore") {
      exchange.respond(403, "text/plain", "no");
    } else if (target->path == "/empty") {
      exchange.respond(204, Headers{}, Buffer{});
    } else if (target->path == "/nothing") {
      co_return;
    } else if (target->path == "/big") {
      exchange.respond(200, Headers{}, big);
    } else if (target->path == "/pieces") {
      exchange.start(200, {});
      for (int i = 0; i < 100; ++i) {
        if (!co_await exchange.write(make_buffer(std::string(1000, static_cast<char>('a' + i % 26))), seconds(30)))
          co_return;
      }
    } else if (target->path == "/stream") {
      exchange.start(200, {});
      for (;;) {
        const auto written = co_await exchange.write(make_buffer("tick"), seconds(30));
        if (!written) co_return;
        co_await pair.loop.sleep(milliseconds(1));
      }
    } else if (target->path == "/fill") {  // as fast as the reader reads, which must not give up
      exchange.start(200, {});
      for (;;) {
        const auto written = co_await exchange.write(chunk, fill_limit);
        if (!written) {
          fill_error = written.error();
          co_return;
        }
        filled += chunk->size();
      }
    } else {
      co_await pair.loop.sleep(std::chrono::hours(1));
    }
  }

  HttpPair pair{GetParam()};
  int handlers = 0;
  int served = 0;
  Buffer big;
  Buffer chunk = make_buffer(std::string(16 * 1024, 'f'));
  base::Duration fill_limit = seconds(30);
  std::size_t filled = 0;
  std::optional<Error> fill_error;
};

TEST_P(HttpPairTest, ARequestComesBack) {
  pair.begin(handler());
  HttpRequest request = post_request("/echo?a=%20b", "hello");
  request.headers.add("X-Own", "1");
  const auto response = pair.fetch(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->headers.get("x-method"), "POST");
  EXPECT_EQ(response->headers.get("x-target"), "/echo?a=%20b");
  EXPECT_EQ(response->headers.get("x-encoding"), "identity");
  EXPECT_EQ(response->headers.get("content-length"), "5");
  const bool is_unix = GetParam() == Wire::kUnix;
  EXPECT_EQ(response->headers.get("x-host"), is_unix ? "localhost" : base::cat("127.0.0.1:", pair.server->port()));
  EXPECT_EQ(response->headers.get("x-peer").substr(0, 9), is_unix ? "unix" : "127.0.0.1");
}

TEST_P(HttpPairTest, OneConnectionServesManyRequests) {
  pair.begin(handler());
  for (int i = 0; i < 20; ++i) {
    const auto response = pair.fetch(i % 2 == 0 ? get_request("/echo") : post_request("/echo", base::cat(i)));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, i % 2 == 0 ? "" : base::cat(i));
  }
  EXPECT_EQ(pair.client->connections(), 1u);
  EXPECT_EQ(pair.server->connections(), 1u);
  pair.client->close_idle_connections();
  EXPECT_TRUE(pair.until([&] { return pair.server->connections() == 0 && pair.client->connections() == 0; }));
  EXPECT_TRUE(pair.fetch(get_request("/echo")));
}

TEST_P(HttpPairTest, AnswersWithoutABody) {
  pair.begin(handler());
  EXPECT_EQ(pair.fetch(get_request("/empty"))->status, 204);
  HttpRequest head = post_request("/echo", "hello");
  head.method = "HEAD";
  const auto response = pair.fetch(head);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(response->headers.get("content-length"), "5");
  head.target = "/pieces";
  head.body.clear();
  EXPECT_EQ(pair.fetch(head)->body, "");
  EXPECT_EQ(pair.fetch(get_request("/empty"))->status, 204);
  EXPECT_EQ(pair.client->connections(), 1u);
}

TEST_P(HttpPairTest, AHandlerWithoutAnAnswerIs500) {
  pair.begin(handler());
  EXPECT_EQ(pair.fetch(get_request("/nothing"))->status, 500);
  EXPECT_NE(pair.lines.find("without an answer"), std::string::npos);
}

TEST_P(HttpPairTest, PiecesArriveInOrder) {
  pair.begin(handler());
  const auto response = pair.fetch(get_request("/pieces"));
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_EQ(response->body.size(), 100'000u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(response->body[i * 1000 + 999], static_cast<char>('a' + i % 26));
}

TEST_P(HttpPairTest, LargeBodiesBothWays) {
  big = make_buffer(pattern(kBigBytes));
  pair.begin(handler());
  const auto down = pair.fetch(get_request("/big"));
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_TRUE(down->body == *big);
  const auto up = pair.fetch(post_request("/echo", *big));
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_TRUE(up->body == *big);
  EXPECT_EQ(pair.client->connections(), 1u);
}

TEST_P(HttpPairTest, ABodyOverTheHandlersLimitIs413) {
  pair.begin(handler());
  EXPECT_EQ(pair.fetch(post_request("/small", std::string(1000, 'x')))->status, 200);
  const auto declared = pair.fetch(post_request("/small", std::string(1001, 'x')));
  ASSERT_TRUE(declared) << declared.error().message;
  EXPECT_EQ(declared->status, 413);
  const auto large = pair.fetch(post_request("/small", std::string(3 << 20, 'x')));
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->status, 413);
  EXPECT_EQ(pair.fetch(post_request("/small", "x"))->status, 200);
}

TEST_P(HttpPairTest, AnAnswerBeforeTheBodyIsReadArrives) {
  pair.begin(handler());
  const auto response = pair.fetch(post_request("/ignore", std::string(3 << 20, 'x')));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 403);
  EXPECT_EQ(pair.fetch(post_request("/echo", "again"))->body, "again");
}

TEST_P(HttpPairTest, AnAnswerOverTheClientsLimitIsAnError) {
  big = make_buffer(std::string(100'000, 'x'));
  pair.client_config.limits.body_bytes_max = 99'999;
  pair.begin(handler());
  for (const char* target : {"/big", "/pieces"}) {  // declared, and found out on the way
    const auto response = pair.fetch(get_request(target));
    ASSERT_FALSE(response) << target;
    EXPECT_EQ(response.error().kind, ErrorKind::kExhausted);
    EXPECT_NE(response.error().message.find(target), std::string::npos);
  }
  EXPECT_EQ(pair.fetch(post_request("/echo", "fine"))->body, "fine");
}

TEST_P(HttpPairTest, RequestsThatCannotBeSentAreRefused) {
  pair.begin(handler());
  HttpRequest request = get_request("/echo");
  request.headers.add("x", "a\r\nb: c");
  EXPECT_EQ(pair.fetch(request).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(pair.fetch(get_request("/a b")).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(pair.client->connections(), 0u);
}

TEST_P(HttpPairTest, TooLongAHeadIs431) {
  pair.server_config.limits.header_bytes_max = 4000;
  pair.begin(handler());
  HttpRequest request = get_request("/echo");
  request.headers.add("x", std::string(5000, 'x'));
  const auto response = pair.fetch(request);
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->status, 431);
  EXPECT_EQ(served, 0);
  EXPECT_EQ(pair.fetch(get_request("/echo"))->status, 200);
}

TEST_P(HttpPairTest, DeadlinesOfHeadAndPiece) {
  pair.begin(handler());
  const auto waited = pair.fetch(get_request("/wait"), milliseconds(50));
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::kDeadline);
  EXPECT_TRUE(pair.until([&] { return handlers == 0; })) << "the server learns that the client is gone";

  pair.begin([&](HttpExchange& exchange) -> Task<void> {
    exchange.start(200, {});
    (void)co_await exchange.write(make_buffer("one"), seconds(1));
    co_await pair.loop.sleep(std::chrono::hours(1));
  });
  auto stream = pair.open(get_request("/"));
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(pair.read_some(**stream, 3), "one");
  const auto silent = pair.read(**stream, milliseconds(50));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().kind, ErrorKind::kDeadline);
}

TEST_P(HttpPairTest, AStreamIsReadAsItComesAndCancelledByDestruction) {
  pair.begin(handler());
  auto stream = pair.open(get_request("/stream"));
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ((*stream)->head().status, 200);
  EXPECT_EQ(pair.read_some(**stream, 40).substr(0, 40), "ticktickticktickticktickticktickticktick");
  EXPECT_EQ(handlers, 1);
  stream->reset();
  EXPECT_TRUE(pair.until([&] { return handlers == 0; }));
  EXPECT_EQ(pair.client->connections(), http2() ? 1u : 0u);
  EXPECT_EQ(pair.fetch(post_request("/echo", "x"))->body, "x");
}

TEST_P(HttpPairTest, WhatIsNotReadStopsTheWriter) {
  pair.begin(handler());
  auto stream = pair.open(get_request("/fill"));
  ASSERT_TRUE(stream) << stream.error().message;
  // Until nothing moves any more: the handler waits, with bounded bytes on the way (sockets, windows).
  std::size_t before = 1;
  while (filled != before) {
    before = filled;
    bool over = false;
    const Timer pause = pair.loop.after(milliseconds(100), [&] { over = true; });
    pair.until([&] { return over; });
  }
  EXPECT_LT(filled, 24u << 20);
  EXPECT_GT(filled, 0u);
  const std::size_t stood_at = filled;
  EXPECT_GE(pair.read_some(**stream, stood_at + (1 << 20)).size(), stood_at + (1 << 20));
  EXPECT_GT(filled, stood_at);
}

TEST_P(HttpPairTest, AReaderThatDoesNotReadIsGivenUp) {
  fill_limit = milliseconds(200);
  pair.begin(handler());
  auto stream = pair.open(get_request("/fill"));
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_TRUE(pair.until([&] { return fill_error.has_value(); }));
  EXPECT_EQ(fill_error->kind, ErrorKind::kDeadline);
}

TEST_P(HttpPairTest, AnotherRequestGoesOnBesideAStalledReader) {
  pair.begin(handler());
  auto stalled = pair.open(get_request("/fill"));
  ASSERT_TRUE(stalled);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(pair.fetch(post_request("/echo", "x"))->body, "x");
  const std::string large(2 << 20, 'y');
  EXPECT_EQ(pair.fetch(post_request("/echo", large))->body, large);
}

// Destroying a task at whatever point it has come to must leave nothing behind.
TEST_P(HttpPairTest, CancelledAtEveryStage) {
  big = make_buffer(std::string(1 << 20, 'b'));
  pair.begin(handler());
  for (const char* target : {"/echo", "/wait", "/big", "/stream"}) {
    for (int rounds = 0; rounds < 25; ++rounds) {
      {
        Scope scope(pair.loop);
        scope.spawn([](HttpClient& client, std::string to) -> Task<void> {
          (void)co_await client.fetch(post_request(std::move(to), std::string(100'000, 'x')), seconds(30));
        }(*pair.client, target));
        for (int i = 0; i < rounds; ++i) pair.loop.turn(EventLoop::Wait::kNo);
      }
      if (rounds % 5 == 0) pair.client->close_idle_connections();
    }
  }
  EXPECT_TRUE(pair.until([&] { return handlers == 0; }));
  EXPECT_EQ(pair.fetch(post_request("/echo", "x"))->body, "x");
}

TEST_P(HttpPairTest, TheClientGoesWhileRequestsRun) {
  pair.begin(handler());
  std::vector<Result<HttpResponse>> results;
  Scope scope(pair.loop);
  for (int i = 0; i < 5; ++i) {
    scope.spawn([](HttpPair& p, std::vector<Result<HttpResponse>>& out) -> Task<void> {
      out.push_back(co_await p.client->fetch(get_request("/wait"), seconds(30)));
    }(pair, results));
  }
  EXPECT_TRUE(pair.until([&] { return handlers == 5; }));
  pair.client.reset();
  EXPECT_TRUE(pair.until([&] { return results.size() == 5 && handlers == 0; }));
  for (const auto& result : results) EXPECT_EQ(result.error().kind, ErrorKind::kUnavailable);
}

TEST_P(HttpPairTest, TheServerGoesWhileStreamsRun) {
  pair.begin(handler());
  std::vector<std::unique_ptr<HttpStream>> streams;
  for (int i = 0; i < 5; ++i) streams.push_back(std::move(*pair.open(get_request("/stream"))));
  pair.server.reset();
  EXPECT_EQ(handlers, 0);
  for (const auto& stream : streams) {
    Result<std::optional<std::string>> piece = std::optional<std::string>("");
    while (piece && *piece) piece = pair.read(*stream);
    ASSERT_FALSE(piece) << "a cut stream must not look complete";
    EXPECT_EQ(piece.error().kind, ErrorKind::kUnavailable);
  }
  EXPECT_TRUE(pair.until([&] { return pair.client->connections() == 0; }));
  const auto refused = pair.fetch(get_request("/echo"), seconds(5));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
}

TEST_P(HttpPairTest, DrainFinishesWhatRuns) {
  Event go(pair.loop);
  pair.begin([&](HttpExchange& exchange) -> Task<void> {
    ++served;
    exchange.start(200, {});
    (void)co_await exchange.write(make_buffer("begin,"), seconds(1));
    co_await go.wait();
    (void)co_await exchange.write(make_buffer("end"), seconds(1));
  });
  auto stream = pair.open(get_request("/"));
  ASSERT_TRUE(stream);
  bool drained = false;
  Scope scope(pair.loop);
  scope.spawn([](HttpPair& p, bool& done) -> Task<void> {
    co_await p.server->drain(seconds(30));
    done = true;
  }(pair, drained));
  EXPECT_EQ(pair.read_some(**stream, 6), "begin,");
  for (int i = 0; i < 100; ++i) pair.loop.turn(EventLoop::Wait::kNo);  // until the client has heard of it
  EXPECT_FALSE(drained);
  const auto refused = pair.fetch(get_request("/"), seconds(5));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
  go.set();
  EXPECT_EQ(pair.read_some(**stream, 3), "end");
  EXPECT_FALSE((*pair.read(**stream)).has_value()) << "a proper end";
  EXPECT_TRUE(pair.until([&] { return drained; }));
  EXPECT_EQ(pair.server->connections(), 0u);
}

TEST_P(HttpPairTest, DrainEndsWhatHasNoEnd) {
  // A watch on each side of the drain: one runs, the other only says so while the server is draining already.
  Event never(pair.loop);
  Event go(pair.loop);
  int destroyed = 0;
  pair.begin([&](HttpExchange& exchange) -> Task<void> {
    struct Count {
      int& at;
      explicit Count(int& a) : at(a) {}
      Count(const Count&) = delete;
      Count& operator=(const Count&) = delete;
      ~Count() { ++at; }
    } count(destroyed);
    exchange.start(200, {});
    (void)co_await exchange.write(make_buffer("event,"), seconds(1));
    if (exchange.head().target == "/late") co_await go.wait();
    exchange.end_at_drain();
    co_await never.wait();
  });
  auto early = pair.open(get_request("/early"));
  auto late = pair.open(get_request("/late"));
  ASSERT_TRUE(early && late);
  EXPECT_EQ(pair.read_some(**late, 6), "event,");
  bool drained = false;
  Scope scope(pair.loop);
  scope.spawn([](HttpPair& p, bool& done) -> Task<void> {
    co_await p.server->drain(seconds(30));
    done = true;
  }(pair, drained));
  EXPECT_EQ(pair.read_some(**early, 6), "event,");
  const auto early_end = pair.read(**early);
  ASSERT_TRUE(early_end) << early_end.error().message;
  EXPECT_FALSE(early_end->has_value()) << "a proper end";
  EXPECT_EQ(destroyed, 1);
  EXPECT_FALSE(drained);
  go.set();
  const auto late_end = pair.read(**late);
  ASSERT_TRUE(late_end) << late_end.error().message;
  EXPECT_FALSE(late_end->has_value()) << "a proper end";
  EXPECT_TRUE(pair.until([&] { return drained; }));
  EXPECT_EQ(destroyed, 2);
}

TEST_P(HttpPairTest, AnAnswerThatIsBrokenOffIsNotTakenForTheWhole) {
  pair.begin([](HttpExchange& exchange) -> Task<void> {
    exchange.start(200, {});
    (void)co_await exchange.write(make_buffer("the first half"), std::chrono::seconds(1));
    if (exchange.head().target == "/broken") exchange.abort();
  });
  EXPECT_FALSE(pair.fetch(get_request("/broken")));
  const auto whole = pair.fetch(get_request("/"));
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->body, "the first half");
}

TEST_P(HttpPairTest, AHandlerMayGoOnAfterItsAnswer) {
  Event go(pair.loop);
  bool finished = false;
  pair.begin([&](HttpExchange& exchange) -> Task<void> {
    exchange.respond(200, "text/plain", "x");
    co_await go.wait();
    finished = true;
  });
  EXPECT_EQ(pair.fetch(get_request("/"))->body, "x");
  EXPECT_FALSE(finished);
  go.set();
  EXPECT_TRUE(pair.until([&] { return finished; }));
}

TEST_P(HttpPairTest, ManyAtOnce) {
  pair.begin(handler());
  int fine = 0;
  int done = 0;
  Scope scope(pair.loop);
  for (int i = 0; i < 1000; ++i) {
    scope.spawn([](HttpPair& p, int& good, int& all, int n) -> Task<void> {
      const auto response = co_await p.client->fetch(post_request("/echo", base::cat("body ", n)), seconds(60));
      EXPECT_TRUE(response) << response.error().message;
      good += response && response->body == base::cat("body ", n) ? 1 : 0;
      ++all;
    }(pair, fine, done, i));
  }
  EXPECT_TRUE(pair.until([&] { return done == 1000; }));
  EXPECT_EQ(fine, 1000);
  EXPECT_LE(pair.client->connections(), http2() ? 1u : pair.client_config.http1_connections_max);
}

// With HTTP/1.1 each stream holds a connection; the last one is left for what is fetched.
TEST_P(HttpPairTest, StreamsDoNotBlockOtherRequests) {
  pair.client_config.http1_connections_max = 3;
  pair.begin(handler());
  std::vector<std::unique_ptr<HttpStream>> streams;
  Scope scope(pair.loop);
  const auto open = [&] {
    scope.spawn([](HttpPair& p, std::vector<std::unique_ptr<HttpStream>>& out) -> Task<void> {
      auto made = co_await p.client->open(get_request("/stream"), seconds(60));
      if (made) out.push_back(std::move(*made));
    }(pair, streams));
  };
  const std::size_t at_once = http2() ? 5 : 2;
  for (int i = 0; i < 5; ++i) open();
  ASSERT_TRUE(pair.until([&] { return streams.size() == at_once; }));
  for (int i = 0; i < 20; ++i) {
    const auto response = pair.fetch(post_request("/echo", "x"));
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body, "x");
  }
  EXPECT_EQ(streams.size(), at_once);
  // A waiting stream gets the place of one that ends.
  for (std::size_t left = 5; left > 0; --left) {
    ASSERT_TRUE(pair.until([&] { return streams.size() == std::min(left, at_once); }));
    streams.erase(streams.begin());
  }
  EXPECT_TRUE(pair.fetch(get_request("/echo")));
}

// Servers judge by the connection's certificate at each request: a client that keeps its connection keeps the old one.
TEST(HttpClientCertificates, ANewOneIsShownWithoutARestart) {
  HttpPair pair(Wire::kHttp2);
  char made[] = "/tmp/tidemark-rotation-XXXXXX";
  const std::filesystem::path folder = mkdtemp(made);
  const auto write = [&](const std::string& name) {
    const auto issued = pair.authority.client(name);
    std::ofstream(folder / "tls.crt.new") << issued.certificate_pem;
    std::ofstream(folder / "tls.key.new") << issued.key_pem;
    std::filesystem::rename(folder / "tls.crt.new", folder / "tls.crt");
    std::filesystem::rename(folder / "tls.key.new", folder / "tls.key");
  };
  write("first");
  pair.server_config.tls->client_ca.text = pair.authority.certificate_pem();
  pair.client_config.tls.certificate.file = folder / "tls.crt";
  pair.client_config.tls.key.file = folder / "tls.key";
  pair.begin([&pair](HttpExchange& exchange) -> Task<void> {
    const std::string name = exchange.peer().certificate_common_name.value_or("nobody");
    if (exchange.head().target != "/stream") {
      exchange.respond(200, "text/plain", name);
      co_return;
    }
    exchange.start(200, {});
    for (;;) {
      if (!co_await exchange.write(make_buffer(name), seconds(30))) co_return;
      co_await pair.loop.sleep(milliseconds(5));
    }
  });
  ASSERT_EQ(pair.fetch(get_request("/"))->body, "first");
  auto stream = pair.open(get_request("/stream"));
  ASSERT_TRUE(stream) << stream.error().message;
  ASSERT_EQ(pair.client->connections(), 1u);

  write("second");
  // The files are looked at once a second.
  EXPECT_TRUE(pair.until([&] { return pair.fetch(get_request("/"))->body == "second"; }));
  EXPECT_EQ(pair.read_some(**stream, 10).substr(0, 5), "first") << "what is under way goes on";
  EXPECT_EQ(pair.client->connections(), 2u);
  stream->reset();
  EXPECT_TRUE(pair.until([&] { return pair.client->connections() == 1; }))
      << "the old one goes when it carries nothing";
  EXPECT_EQ(pair.fetch(get_request("/"))->body, "second");
  std::filesystem::remove_all(folder);
}

// Our own two sides always agree on HTTP/2 over TLS; others may not have it. So the two HTTP/1.1 halves are put on a
// TLS connection by hand.
TEST(Http1OverTls, RequestsAndLargeBodies) {
  HttpPair pair(Wire::kHttp2);
  const std::string large = pattern(8 << 20);
  ServerContext context{pair.loop, pair.log, pair.server_config, [&](HttpExchange& exchange) -> Task<void> {
                          auto body = co_await exchange.body(16 << 20);
                          EXPECT_TRUE(body) << body.error().message;
                          exchange.respond(200, "text/plain", body ? std::move(*body) : "");
                        }};
  std::unique_ptr<ServerConnection> served;
  auto listener =
      listen_on(pair.loop, pair.log, "127.0.0.1:0",
                [&](std::unique_ptr<Connection> made) { served = make_server_http1(context, std::move(made), [] {}); },
                {.tls = *make_tls_server_context(pair.authority.server_config(), pair.clock)});
  ASSERT_TRUE(listener) << listener.error().message;
  const Url url{.scheme = "https", .host = "127.0.0.1", .port = (*listener)->port(), .path = ""};
  auto tls = make_tls_client_context(pair.authority.client_config(), pair.clock);
  auto connected = testing::run_task(pair.loop, connect(pair.loop, nullptr, url, *tls, seconds(10)));
  ASSERT_TRUE(connected) << connected.error().message;
  const auto client =
      make_client_http1(pair.loop, std::move(*connected),
                        {.scheme = "https", .authority = "h", .limits = {}, .ping_interval = {}, .ping_timeout = {}},
                        {.on_room = [] {}, .on_ended = [] {}});
  for (const std::string& body : {std::string("small"), large, std::string("again")}) {
    const auto exchange = client->send(post_request("/", ""), make_buffer(body));
    std::string got;
    ASSERT_TRUE(pair.until([&] {
      const std::size_t bytes = exchange->pending.size();
      got += std::exchange(exchange->pending, {});
      client->consumed(*exchange, bytes);
      return exchange->complete || exchange->error;
    }));
    ASSERT_FALSE(exchange->error) << exchange->error->message;
    got += exchange->pending;
    EXPECT_EQ(exchange->head->status, 200);
    EXPECT_TRUE(got == body);
    EXPECT_EQ(client->room(), 1u) << "kept for the next request";
  }
}

INSTANTIATE_TEST_SUITE_P(Wires, HttpPairTest, ::testing::Values(Wire::kClear, Wire::kUnix, Wire::kHttp2),
                         [](const auto& info) {
                           return info.param == Wire::kClear ? "Clear" : info.param == Wire::kUnix ? "Unix" : "Http2";
                         });

}  // namespace
}  // namespace tidemark::net
