// The client against servers that send nonsense, stop in the middle, refuse, or fall silent.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "net/http2_session.h"
#include "net/http_client.h"
#include "net/testing/endpoint.h"
#include "net/testing/http.h"

namespace tidemark::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Endpoint;
using testing::get_request;
using testing::post_request;

class HttpClientFaultTest : public ::testing::Test {
 protected:
  void listen(std::shared_ptr<TlsServerContext> tls, std::function<void(std::unique_ptr<Connection>)> welcome) {
    auto made = listen_on(loop, log, "127.0.0.1:0", std::move(welcome), {.tls = tls});
    ASSERT_TRUE(made) << made.error().message;
    listener = std::move(*made);
    config.url = Url{.scheme = tls ? "https" : "http", .host = "127.0.0.1", .port = listener->port(), .path = ""};
  }
  Result<HttpResponse> fetch(HttpRequest request, base::Duration limit = seconds(20)) {
    return testing::run_task(loop, client->fetch(std::move(request), limit));
  }
  template <class Condition>
  bool until(Condition&& condition) {
    return testing::run_real_until(loop, std::forward<Condition>(condition));
  }

  base::SystemClock clock;
  EventLoop loop{clock};
  base::Log log{clock, {.write = [](std::string_view) {}}};
  HttpClientConfig config;
  std::unique_ptr<Listener> listener;
  std::unique_ptr<HttpClient> client;
};

// --- HTTP/1.1: a server that answers by a script
// ----------------------------------------------------------------------

class Http1ClientFaultTest : public HttpClientFaultTest {
 protected:
  struct Step {
    std::string bytes;
    bool close = false;
  };
  // For each connection the answers to its requests, in order. After the last one it says nothing more.
  void begin(std::vector<std::vector<Step>> connections) {
    scripts = std::move(connections);
    listen(nullptr, [this](std::unique_ptr<Connection> made) {
      const std::size_t number = peers.size();
      auto peer = std::make_unique<Endpoint>();
      Endpoint& self = *peer;
      self.on_data = [this, &self, number, next = std::size_t{0}](std::string_view) mutable {
        if (!self.got.ends_with("\r\n\r\n") && self.got.find("content-length") == std::string::npos) return true;
        ++requests;
        if (number < scripts.size() && next < scripts[number].size()) {
          const Step& step = scripts[number][next++];
          self.connection->write(step.bytes);
          if (step.close) self.connection->close_after_write();
        }
        return true;
      };
      peers.push_back(std::move(peer));
      self.attach(std::move(made));
    });
    client = std::make_unique<HttpClient>(loop, nullptr, config);
  }
  Error error_of(std::string bytes, bool close = true) {
    client.reset();
    peers.clear();
    begin({{{std::move(bytes), close}}});
    auto response = fetch(get_request("/x?y"), close ? seconds(20) : milliseconds(60));
    EXPECT_FALSE(response);
    EXPECT_TRUE(until([&] { return client->connections() == 0; })) << "a broken connection is not kept";
    return response ? Error{} : response.error();
  }

  std::vector<std::vector<Step>> scripts;
  std::vector<std::unique_ptr<Endpoint>> peers;
  int requests = 0;
};

const std::string kFine = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";

TEST_F(Http1ClientFaultTest, NonsenseIsInvalid) {
  for (const char* bytes : {"\x16\x03\x01", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
                            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                            "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 200 OK\r\nX : y\r\n\r\n"}) {
    const Error error = error_of(bytes);
    EXPECT_EQ(error.kind, ErrorKind::kInvalid) << bytes << ": " << error.message;
    EXPECT_NE(error.message.find("GET http://127.0.0.1"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find("?y"), std::string::npos) << error.message;
  }
}

TEST_F(Http1ClientFaultTest, CutAnywhereIsUnavailable) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n";
  for (const std::string& whole : {kFine, chunked}) {
    for (std::size_t length = 0; length < whole.size(); length += 3) {
      const Error error = error_of(whole.substr(0, length));
      EXPECT_EQ(error.kind, ErrorKind::kUnavailable) << length << ": " << error.message;
    }
  }
}

TEST_F(Http1ClientFaultTest, ACutStreamGivesWhatCameAndThenTheError) {
  begin({{{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", true}}});
  auto stream = testing::run_task(loop, client->open(get_request("/"), seconds(20)));
  ASSERT_TRUE(stream) << stream.error().message;
  const auto piece = testing::run_task(loop, (*stream)->read(seconds(20)));
  ASSERT_TRUE(piece && *piece);
  EXPECT_EQ(**piece, "half");
  for (int i = 0; i < 2; ++i) {
    const auto end = testing::run_task(loop, (*stream)->read(seconds(20)));
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().kind, ErrorKind::kUnavailable);
  }
}

TEST_F(Http1ClientFaultTest, EndlessHeadsAreExhausted) {
  config.limits.header_bytes_max = 1000;
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nX: " + std::string(2000, 'x')).kind, ErrorKind::kExhausted);
}

TEST_F(Http1ClientFaultTest, SilenceIsADeadline) {
  for (const char* bytes : {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour"}) {
    EXPECT_EQ(error_of(bytes, false).kind, ErrorKind::kDeadline) << bytes;
  }
}

TEST_F(Http1ClientFaultTest, ARefusedConnectionIsUnavailable) {
  begin({});
  listener.reset();
  const auto response = fetch(get_request("/"));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::kUnavailable);
}

TEST_F(Http1ClientFaultTest, ItTellsWhetherTheServerMayHaveSeenARequest) {
  bool unsent = false;
  HttpRequest request = post_request("/", "x");
  request.unsent = &unsent;
  begin({{{"", true}}});
  EXPECT_FALSE(fetch(request));
  EXPECT_FALSE(unsent) << "the server had it, and said nothing";
  client = std::make_unique<HttpClient>(loop, nullptr, config);
  listener.reset();
  EXPECT_FALSE(fetch(request));
  EXPECT_TRUE(unsent) << "no server was there";
}

TEST_F(Http1ClientFaultTest, AnAnswerThatEndsWithTheConnection) {
  begin({{{"HTTP/1.1 200 OK\r\n\r\nuntil the end", true}}});
  const auto response = fetch(get_request("/"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "until the end");
  EXPECT_EQ(client->connections(), 0u);
}

TEST_F(Http1ClientFaultTest, AKeptConnectionThatDiedIsTriedOnceMore) {
  begin({{{kFine}, {"", true}}, {{kFine}, {kFine}}});
  EXPECT_EQ(fetch(get_request("/1"))->body, "fine");
  const auto again = fetch(get_request("/2"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->body, "fine");
  EXPECT_EQ(peers.size(), 2u);
  EXPECT_EQ(requests, 3);
}

TEST_F(Http1ClientFaultTest, WhatIsNotIdempotentIsNotSentTwice) {
  begin({{{kFine}, {"", true}}, {{kFine}}});
  EXPECT_EQ(fetch(post_request("/1", "x"))->body, "fine");
  const auto again = fetch(post_request("/2", "x"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(peers.size(), 1u);
}

TEST_F(Http1ClientFaultTest, AFreshConnectionThatDiesIsNotTriedAgain) {
  begin({{{"", true}}, {{kFine}}});
  EXPECT_EQ(fetch(get_request("/")).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(peers.size(), 1u);
}

TEST_F(Http1ClientFaultTest, BytesAfterAnAnswerEndTheConnection) {
  begin({{{kFine + kFine}}, {{kFine}}});
  EXPECT_EQ(fetch(get_request("/1"))->body, "fine");
  EXPECT_EQ(fetch(get_request("/2"))->body, "fine");
  EXPECT_EQ(peers.size(), 2u) << "an unsolicited answer must not answer the next request";
}

// --- HTTP/2: a server made of a session and a hook
// --------------------------------------------------------------------

class Http2Peer : public Http2Session::Events {
 public:
  Http2Peer(std::unique_ptr<Connection> made, Http2Session::Config config, const base::Clock& clock)
      : session(config, *this) {
    end.on_data = [this, &clock](std::string_view bytes) {
      if (deaf) return true;
      (void)session.feed(bytes, clock.monotonic());
      if (!deaf) flush();
      return true;
    };
    end.attach(std::move(made));
    flush();
  }
  void flush() {
    std::string out;
    while (session.take(out, 1 << 20)) {
    }
    end.connection->write(out);
  }
  void answer(std::int32_t id, std::string_view body) {
    session.respond(id, 200, {}, false);
    session.send(id, make_buffer(std::string(body)));
    session.end(id);
  }

  std::function<void(Http2Peer&, std::int32_t, const HttpRequest&)> on_ask;
  std::size_t open = 0;
  std::size_t open_max = 0;
  bool deaf = false;
  Endpoint end;
  Http2Session session;

 private:
  void on_request(std::int32_t id, HttpRequest head) override {
    open_max = std::max(open_max, ++open);
    if (on_ask) on_ask(*this, id, head);
  }
  void on_data(std::int32_t, std::string_view) override {}  // never consumed: its window stays closed
  void on_end(std::int32_t) override {}
  void on_closed(std::int32_t, Http2Session::Closed) override { --open; }
};

class Http2ClientFaultTest : public HttpClientFaultTest {
 protected:
  void begin(std::function<void(Http2Peer&, std::int32_t, const HttpRequest&)> on_ask, std::size_t streams_max = 100) {
    const testing::TestAuthority authority(clock.wall());
    auto tls = make_tls_server_context(authority.server_config(), clock);
    config.tls = authority.client_config();
    auto shared = *tls;
    listen(shared, [this, on_ask, streams_max](std::unique_ptr<Connection> made) {
      Http2Session::Config settings;
      settings.side = Http2Session::Side::kServer;
      settings.streams_max = streams_max;
      settings.stream_window_bytes = 65'535;
      peers.push_back(std::make_unique<Http2Peer>(std::move(made), settings, clock));
      peers.back()->on_ask = on_ask;
    });
    config.url.scheme = "https";
    client = std::make_unique<HttpClient>(loop, nullptr, config);
  }
  // Many requests at once; what became of them.
  struct Outcome {
    std::vector<Result<HttpResponse>> results;
    std::unique_ptr<Scope> scope;
  };
  std::unique_ptr<Outcome> ask(int times, base::Duration limit = seconds(20)) {
    auto outcome = std::make_unique<Outcome>();
    outcome->scope = std::make_unique<Scope>(loop);
    for (int i = 0; i < times; ++i) {
      outcome->scope->spawn([](HttpClient& c, Outcome& out, int n, base::Duration within) -> Task<void> {
        out.results.push_back(co_await c.fetch(get_request(base::cat("/", n)), within));
      }(*client, *outcome, i, limit));
    }
    return outcome;
  }

  std::vector<std::unique_ptr<Http2Peer>> peers;
};

TEST_F(Http2ClientFaultTest, OneDialForAll) {
  begin([](Http2Peer& peer, std::int32_t id, const HttpRequest&) { peer.answer(id, "x"); });
  const auto outcome = ask(50);
  EXPECT_TRUE(until([&] { return outcome->results.size() == 50; }));
  for (const auto& result : outcome->results) EXPECT_TRUE(result);
  EXPECT_EQ(peers.size(), 1u);
}

TEST_F(Http2ClientFaultTest, TheServersStreamLimitMakesAQueue) {
  std::vector<std::int32_t> waiting;
  config.http2_connections_max = 1;
  begin([&](Http2Peer&, std::int32_t id, const HttpRequest&) { waiting.push_back(id); }, 3);
  auto first = ask(1);  // so that the limit is known
  EXPECT_TRUE(until([&] { return waiting.size() == 1; }));
  const auto outcome = ask(30);
  {
    const auto cancelled = ask(5);  // leaves the queue again
    for (int i = 0; i < 20; ++i) loop.turn(EventLoop::Wait::kNo);
  }
  while (outcome->results.size() < 30) {
    ASSERT_TRUE(until([&] { return !waiting.empty() || outcome->results.size() == 30; }));
    for (const auto id : std::exchange(waiting, {})) peers[0]->answer(id, "x");
    peers[0]->flush();
  }
  for (const auto& result : outcome->results) EXPECT_TRUE(result) << result.error().message;
  EXPECT_EQ(peers[0]->open_max, 3u);
  EXPECT_EQ(peers.size(), 1u);
}

TEST_F(Http2ClientFaultTest, AFullConnectionLeadsToAFurtherOne) {
  // Watches without an end take all that they may; what is fetched still gets through.
  config.http2_connections_max = 3;
  begin(
      [](Http2Peer& peer, std::int32_t id, const HttpRequest& head) {
        if (head.target != "/watch") return peer.answer(id, "x");
        peer.session.respond(id, 200, {}, false);
      },
      2);
  std::vector<std::unique_ptr<HttpStream>> watches;
  const auto watch = [&](base::Duration limit) {
    auto made = testing::run_task(loop, client->open(get_request("/watch"), limit));
    if (made) watches.push_back(std::move(*made));
  };
  for (int i = 0; i < 4; ++i) watch(seconds(20));
  ASSERT_EQ(watches.size(), 4u);
  EXPECT_EQ(peers.size(), 2u);
  watch(milliseconds(60));
  EXPECT_EQ(watches.size(), 4u) << "the last connection is not for watches";
  const auto outcome = ask(20);
  EXPECT_TRUE(until([&] { return outcome->results.size() == 20; }));
  for (const auto& result : outcome->results) EXPECT_TRUE(result) << result.error().message;
  EXPECT_EQ(peers.size(), 3u);
  for (const auto& peer : peers) EXPECT_LE(peer->open_max, 2u);
  // A waiting watch gets the place of one that ends.
  Scope scope(loop);
  scope.spawn([](HttpClient& c, std::vector<std::unique_ptr<HttpStream>>& out) -> Task<void> {
    auto made = co_await c.open(get_request("/watch"), seconds(20));
    if (made) out.push_back(std::move(*made));
  }(*client, watches));
  for (int i = 0; i < 20; ++i) loop.turn(EventLoop::Wait::kNo);
  EXPECT_EQ(watches.size(), 4u);
  watches.erase(watches.begin());
  EXPECT_TRUE(until([&] { return watches.size() == 4; }));
  EXPECT_EQ(peers.size(), 3u);
}

TEST_F(Http2ClientFaultTest, AFurtherConnectionIsClosedWhenItFallsIdle) {
  config.spare_idle_timeout = milliseconds(1000);
  begin(
      [](Http2Peer& peer, std::int32_t id, const HttpRequest& head) {
        if (head.target == "/0") return peer.session.respond(id, 200, {}, false);
        peer.answer(id, "x");
      },
      1);
  auto held = ask(1);
  EXPECT_TRUE(until([&] { return !peers.empty() && peers[0]->open == 1; }));
  EXPECT_TRUE(fetch(get_request("/x")));
  EXPECT_EQ(client->connections(), 2u);
  EXPECT_TRUE(until([&] { return client->connections() == 1; }));
  EXPECT_EQ(peers[0]->open, 1u) << "the one in use stays";
}

TEST_F(Http2ClientFaultTest, AFailedExtraConnectionFailsNoRequest) {
  begin({}, 1);
  auto first = ask(1);
  EXPECT_TRUE(until([&] { return !peers.empty() && peers[0]->open == 1; }));
  listener.reset();
  const auto second = ask(3);
  for (int i = 0; i < 50; ++i) loop.turn(EventLoop::Wait::kNo);
  EXPECT_TRUE(second->results.empty());
  peers[0]->on_ask = [](Http2Peer& peer, std::int32_t id, const HttpRequest&) { peer.answer(id, "x"); };
  peers[0]->answer(1, "x");
  peers[0]->flush();
  EXPECT_TRUE(until([&] { return second->results.size() == 3; }));
  for (const auto& result : second->results) EXPECT_TRUE(result) << result.error().message;
}

TEST_F(Http2ClientFaultTest, WaitingForAStreamHasADeadline) {
  config.http2_connections_max = 1;
  begin({}, 1);
  const auto first = ask(1);
  EXPECT_TRUE(until([&] { return !peers.empty() && peers[0]->open == 1; }));
  const auto second = ask(1, milliseconds(60));
  EXPECT_TRUE(until([&] { return second->results.size() == 1; }));
  EXPECT_EQ(second->results[0].error().kind, ErrorKind::kDeadline);
}

TEST_F(Http2ClientFaultTest, GoawaySendsTheUnprocessedElsewhere) {
  // The first connection takes the first request, says goodbye to the rest, and answers late.
  begin([&](Http2Peer& peer, std::int32_t id, const HttpRequest&) {
    if (&peer != peers[0].get()) return peer.answer(id, "second");
    if (id != 1) return;
    const std::string goaway("\0\0\10\7\0\0\0\0\0\0\0\0\1\0\0\0\0", 17);
    peer.end.connection->write(goaway);
    peer.deaf = true;
    peer.answer(1, "first");
  });
  const auto outcome = ask(5);
  EXPECT_TRUE(until([&] { return outcome->results.size() == 4; }));
  for (const auto& result : outcome->results) EXPECT_EQ(result ? result->body : result.error().message, "second");
  peers[0]->flush();
  EXPECT_TRUE(until([&] { return outcome->results.size() == 5; }));
  EXPECT_EQ(outcome->results[4] ? outcome->results[4]->body : outcome->results[4].error().message, "first");
  EXPECT_EQ(peers.size(), 2u);
}

TEST_F(Http2ClientFaultTest, RefusedStreamsAreTriedAgainAndNotForEver) {
  int asked = 0;
  begin([&](Http2Peer& peer, std::int32_t id, const HttpRequest& head) {
    ++asked;
    if (head.target == "/0" && asked > 1) return peer.answer(id, "x");
    peer.session.reset(id, Http2Session::kRefusedStream);
    --peer.open;
  });
  const auto once = ask(1);
  EXPECT_TRUE(until([&] { return once->results.size() == 1; }));
  EXPECT_TRUE(once->results[0]);
  EXPECT_EQ(asked, 2);
  asked = 0;
  bool unsent = false;
  HttpRequest refused = get_request("/never");
  refused.unsent = &unsent;
  const auto never = fetch(refused);
  ASSERT_FALSE(never);
  EXPECT_TRUE(unsent) << "as good as: the server says that it did not look at it";
  EXPECT_EQ(never.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(asked, 4);
}

TEST_F(Http2ClientFaultTest, AStreamThatIsResetIsUnavailable) {
  int asked = 0;
  begin([&](Http2Peer& peer, std::int32_t id, const HttpRequest&) {
    ++asked;
    peer.session.reset(id, Http2Session::kInternalError);
    --peer.open;
  });
  const auto response = fetch(get_request("/"));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(response.error().message.find("INTERNAL_ERROR"), std::string::npos);
  EXPECT_EQ(asked, 1) << "it may have been processed: the caller decides";
}

TEST_F(Http2ClientFaultTest, AKeptConnectionThatDiedIsTriedOnceMore) {
  int asked = 0;
  begin([&](Http2Peer& peer, std::int32_t id, const HttpRequest& head) {
    ++asked;
    if (head.target == "/warm" || &peer != peers[0].get()) return peer.answer(id, "x");
    peer.deaf = true;  // not a byte of it
    peer.end.connection->close_after_write();
  });
  ASSERT_TRUE(fetch(get_request("/warm")));
  const auto again = fetch(get_request("/"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->body, "x");
  EXPECT_EQ(peers.size(), 2u);
  EXPECT_EQ(asked, 3);
}

TEST_F(Http2ClientFaultTest, WhatIsNotIdempotentIsNotSentTwice) {
  begin([](Http2Peer& peer, std::int32_t id, const HttpRequest& head) {
    if (head.target == "/warm") return peer.answer(id, "x");
    peer.deaf = true;
    peer.end.connection->close_after_write();
  });
  ASSERT_TRUE(fetch(get_request("/warm")));
  const auto once = fetch(post_request("/", "x"));
  ASSERT_FALSE(once);
  EXPECT_EQ(once.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(peers.size(), 1u);
}

TEST_F(Http2ClientFaultTest, AReadThatOutlivesItsStreamTakesNothing) {
  begin([](Http2Peer& peer, std::int32_t id, const HttpRequest&) { peer.answer(id, "left over"); });
  auto stream = testing::run_task(loop, client->open(get_request("/"), seconds(20)));
  ASSERT_TRUE(stream);
  for (int i = 0; i < 50; ++i) loop.turn(EventLoop::Wait::kNo);  // the body is here
  auto late = (*stream)->read(seconds(20));
  stream->reset();
  const auto piece = testing::run_task(loop, std::move(late));
  ASSERT_FALSE(piece) << "the bytes were returned to the window with the stream";
  EXPECT_EQ(piece.error().kind, ErrorKind::kUnavailable);
}

TEST_F(Http2ClientFaultTest, ALostConnectionEndsAllItsStreams) {
  begin({});
  const auto outcome = ask(20);
  EXPECT_TRUE(until([&] { return !peers.empty() && peers[0]->open == 20; }));
  peers[0]->end.connection.reset();
  EXPECT_TRUE(until([&] { return outcome->results.size() == 20; }));
  for (const auto& result : outcome->results) EXPECT_EQ(result.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(client->connections(), 0u);
}

TEST_F(Http2ClientFaultTest, GarbageFromTheServerIsInvalid) {
  begin([](Http2Peer& peer, std::int32_t, const HttpRequest&) {
    peer.end.connection->write(std::string_view(std::string(500, '\xff')));
  });
  const auto response = fetch(get_request("/"));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::kInvalid) << response.error().message;
}

TEST_F(Http2ClientFaultTest, ASilentServerIsFoundByPing) {
  config.ping_interval = milliseconds(50);
  config.connect_timeout = milliseconds(2000);
  begin({});
  const auto outcome = ask(3);
  EXPECT_TRUE(until([&] { return !peers.empty() && peers[0]->open == 3; }));
  // One that answers pings is fine for as long as it likes.
  bool over = false;
  const Timer pause = loop.after(milliseconds(600), [&] { over = true; });
  EXPECT_TRUE(until([&] { return over; }));
  EXPECT_TRUE(outcome->results.empty());
  peers[0]->deaf = true;
  EXPECT_TRUE(until([&] { return outcome->results.size() == 3; }));
  for (const auto& result : outcome->results) {
    EXPECT_EQ(result.error().kind, ErrorKind::kUnavailable);
    EXPECT_NE(result.error().message.find("PING"), std::string::npos);
  }
}

TEST_F(Http2ClientFaultTest, AnUploadThatIsNotReadIsADeadline) {
  begin({});
  const auto first = ask(1);
  ASSERT_TRUE(until([&] { return !peers.empty() && peers[0]->open == 1; }));
  const auto response = fetch(post_request("/", std::string(1 << 20, 'x')), milliseconds(100));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::kDeadline);
  EXPECT_TRUE(until([&] { return peers[0]->open == 1; })) << "and it is cancelled";
}

TEST_F(Http2ClientFaultTest, AServerThatClosesEachConnectionIsGivenUp) {
  int connections = 0;
  const testing::TestAuthority authority(clock.wall());
  config.tls = authority.client_config();
  auto tls = *make_tls_server_context(authority.server_config(), clock);
  listen(tls, [&](std::unique_ptr<Connection>) { ++connections; });
  config.url.scheme = "https";
  client = std::make_unique<HttpClient>(loop, nullptr, config);
  const auto response = fetch(get_request("/"));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::kUnavailable) << response.error().message;
  EXPECT_LE(connections, 4);
}

TEST_F(Http2ClientFaultTest, AnUnknownAuthorityIsNotTrusted) {
  begin([](Http2Peer& peer, std::int32_t id, const HttpRequest&) { peer.answer(id, "x"); });
  config.tls = testing::TestAuthority(clock.wall(), "another").client_config();
  client = std::make_unique<HttpClient>(loop, nullptr, config);
  const auto response = fetch(get_request("/"));
  ASSERT_FALSE(response);
  EXPECT_NE(response.error().message.find("certificate"), std::string::npos) << response.error().message;
}

}  // namespace
}  // namespace tidemark::net
