#include "net/http2_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/testing/clock.h"
#include "base/text.h"

namespace tidemark::net {
namespace {

using Side = Http2Session::Side;

constexpr std::size_t kTakeMax = 1 << 16;

// Stores the events of each stream.
struct Ear : Http2Session::Events {
  struct Stream {
    HttpRequest request;
    HttpResponseHead response;
    std::string body;
    std::size_t sent = 0;
    bool head = false;
    bool ended = false;
    std::optional<Http2Session::Closed> closed;
  };
  std::map<std::int32_t, Stream> streams;

  void on_request(std::int32_t id, HttpRequest head) override {
    streams[id].request = std::move(head);
    streams[id].head = true;
  }
  void on_response(std::int32_t id, HttpResponseHead head) override {
    EXPECT_FALSE(streams[id].head);
    streams[id].response = std::move(head);
    streams[id].head = true;
  }
  void on_data(std::int32_t id, std::string_view bytes) override {
    EXPECT_TRUE(streams[id].head);
    streams[id].body += bytes;
  }
  void on_end(std::int32_t id) override { streams[id].ended = true; }
  void on_sent(std::int32_t id, std::size_t bytes) override { streams[id].sent += bytes; }
  void on_closed(std::int32_t id, Http2Session::Closed how) override {
    EXPECT_FALSE(streams[id].closed) << "reported once";
    streams[id].closed = std::move(how);
  }
};

std::string frame(int type, int flags, std::uint32_t stream, std::string_view payload) {
  std::string out;
  for (const int shift : {16, 8, 0}) out.push_back(static_cast<char>(payload.size() >> shift & 0xff));
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(stream >> shift & 0xff));
  return out.append(payload);
}
std::string word(std::uint32_t value) {
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(value >> shift & 0xff));
  return out;
}
std::string literal(std::string_view name, std::string_view value) {  // HPACK: not indexed, new name, no Huffman
  TM_CHECK(name.size() < 127 && value.size() < 127, "one length byte");
  std::string out(1, '\0');
  out.push_back(static_cast<char>(name.size()));
  out.append(name);
  out.push_back(static_cast<char>(value.size()));
  return out.append(value);
}
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
std::string get_head(std::string_view path = "/") {
  return literal(":method", "GET") + literal(":scheme", "https") + literal(":authority", "h") + literal(":path", path);
}
constexpr int kData = 0, kHeaders = 1, kPriority = 2, kReset = 3, kSettings = 4, kPing = 6, kGoaway = 7,
              kContinuation = 9;
constexpr int kEndStream = 1, kEndHeaders = 4;

// The error code of the GOAWAY in what a session sent, if there is one.
std::optional<std::uint32_t> goaway_code(std::string_view bytes) {
  std::optional<std::uint32_t> code;
  while (bytes.size() >= 9) {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at])); };
    const std::size_t length = byte(0) << 16 | byte(1) << 8 | byte(2);
    if (byte(3) == kGoaway) code = byte(13) << 24 | byte(14) << 16 | byte(15) << 8 | byte(16);
    bytes.remove_prefix(std::min(bytes.size(), 9 + length));
  }
  return code;
}
constexpr std::uint32_t kEnhanceYourCalm = 11;

struct Pair {
  base::testing::Clock clock;
  Ear client_ear, server_ear;
  Http2Session client, server;

  explicit Pair(Http2Session::Config client_config = {}, Http2Session::Config server_config = {.side = Side::kServer})
      : client(client_config, client_ear), server(server_config, server_ear) {}

  bool carry(Http2Session& from, Http2Session& to) {
    std::string bytes;
    from.take(bytes, kTakeMax);
    if (bytes.empty()) return false;
    EXPECT_TRUE(to.feed(bytes, clock.monotonic())) << to.reason();
    return true;
  }
  void exchange() {
    for (bool moved = true; moved;) {
      moved = carry(client, server);
      moved = carry(server, client) || moved;
    }
  }
  std::int32_t get(std::string_view target = "/", std::string body = "") {
    HttpRequest request{
        .method = body.empty() ? "GET" : "POST", .target = std::string(target), .headers = {}, .body = ""};
    request.headers.add("Accept", "x/y");
    request.headers.add("Connection", "close");
    const auto id = client.submit(request, "https", "host:1", make_buffer(std::move(body)));
    EXPECT_TRUE(id);
    return id.value_or(0);
  }
};

// A server alone, fed by hand.
struct Lone {
  base::testing::Clock clock;
  Ear ear;
  Http2Session session;
  std::string out;
  explicit Lone(Http2Session::Config config = {.side = Side::kServer}) : session(config, ear) {
    EXPECT_TRUE(feed((config.side == Side::kServer ? kPreface : "") + frame(kSettings, 0, 0, "")));
  }
  bool feed(std::string_view bytes) {
    const bool fine = session.feed(bytes, clock.monotonic()).has_value();
    session.take(out, out.size() + kTakeMax);
    return fine;
  }
};

TEST(Http2Session, ARequestAndItsAnswer) {
  Pair pair;
  const auto id = pair.get("/a?b", "question");
  pair.exchange();
  auto& asked = pair.server_ear.streams[id];
  EXPECT_EQ(asked.request.method, "POST");
  EXPECT_EQ(asked.request.target, "/a?b");
  EXPECT_EQ(asked.request.headers.get("host"), "host:1");
  EXPECT_EQ(asked.request.headers.get("content-length"), "8");
  EXPECT_FALSE(asked.request.headers.has("connection"));
  EXPECT_EQ(asked.body, "question");
  EXPECT_TRUE(asked.ended);
  EXPECT_FALSE(asked.closed);

  Headers headers;
  headers.add("Content-Type", "t");
  pair.server.respond_continue(id);
  pair.server.respond(id, 201, headers, false);
  pair.server.send(id, make_buffer("ans"));
  pair.exchange();
  EXPECT_EQ(pair.client_ear.streams[id].response.status, 201);
  EXPECT_EQ(pair.client_ear.streams[id].body, "ans");
  EXPECT_FALSE(pair.client_ear.streams[id].ended);
  pair.server.send(id, make_buffer("wer"));
  pair.server.end(id);
  pair.exchange();
  EXPECT_EQ(pair.client_ear.streams[id].body, "answer");
  EXPECT_TRUE(pair.client_ear.streams[id].ended);
  ASSERT_TRUE(pair.client_ear.streams[id].closed);
  EXPECT_EQ(pair.client_ear.streams[id].closed->error_code, 0u);
  EXPECT_TRUE(pair.server_ear.streams[id].closed);
  EXPECT_EQ(pair.server_ear.streams[id].sent, 6u);
  EXPECT_EQ(pair.client.streams() + pair.server.streams(), 0u);
}

TEST(Http2Session, WhatIsNotConsumedStopsTheSender) {
  Pair pair({.stream_window_bytes = 100'000, .connection_window_bytes = 250'000});
  const auto one = pair.get(), two = pair.get(), three = pair.get();
  pair.exchange();
  for (const auto id : {one, two, three}) {
    pair.server.respond(id, 200, {}, false);
    pair.server.send(id, make_buffer(std::string(500'000, 'x')));
    pair.server.end(id);
  }
  pair.exchange();
  const auto got = [&](std::int32_t id) { return pair.client_ear.streams[id].body.size(); };
  EXPECT_EQ(got(one) + got(two) + got(three), 250'000u) << "the connection's window bounds all of them";
  // One that is read goes on, as far as its own window; the others stand.
  std::map<std::int32_t, std::size_t> consumed;
  const auto read = [&](std::int32_t id) {
    pair.client.consume(id, got(id) - consumed[id]);
    consumed[id] = got(id);
    pair.exchange();
  };
  while (consumed[one] < 500'000) {
    read(one);
    EXPECT_LE(got(two), 100'000u) << "a stream's window bounds what its reader holds";
    EXPECT_LE(got(three), 100'000u);
  }
  EXPECT_TRUE(pair.client_ear.streams[one].ended);
  EXPECT_FALSE(pair.client_ear.streams[two].ended);
  for (int round = 0; round < 20; ++round) {
    read(two);
    read(three);
  }
  for (const auto id : {one, two, three}) {
    EXPECT_EQ(got(id), 500'000u);
    EXPECT_TRUE(pair.client_ear.streams[id].ended);
  }
}

// Data for a stream without a reader must not use up the connection's window.
TEST(Http2Session, ResetStreamsGiveTheirWindowBack) {
  Pair pair({.stream_window_bytes = 65'535, .connection_window_bytes = 100'000});
  for (int round = 0; round < 50; ++round) {
    const auto id = pair.get();
    pair.exchange();
    pair.server.respond(id, 200, {}, false);
    pair.server.send(id, make_buffer(std::string(65'535, 'x')));
    pair.client.reset(id, Http2Session::kCancel);  // the data is under way
    pair.carry(pair.server, pair.client);
    pair.exchange();
    EXPECT_FALSE(pair.client_ear.streams[id].closed);
    ASSERT_TRUE(pair.server_ear.streams[id].closed) << round;
    EXPECT_EQ(pair.server_ear.streams[id].closed->error_code, Http2Session::kCancel);
  }
  const auto id = pair.get();
  pair.exchange();
  pair.server.respond(id, 200, {}, false);
  pair.server.send(id, make_buffer("alive"));
  pair.exchange();
  EXPECT_EQ(pair.client_ear.streams[id].body, "alive");
}

TEST(Http2Session, SharedBuffersAreNotCopiedWhileTheyWait) {
  Pair pair({.stream_window_bytes = 65'535});
  const Buffer shared = make_buffer(std::string(1 << 20, 's'));
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(pair.get());
  pair.exchange();
  for (const auto id : ids) {
    pair.server.respond(id, 200, {}, false);
    pair.server.send(id, shared);
  }
  EXPECT_EQ(shared.use_count(), 21);
  for (const auto id : ids) pair.client.reset(id, Http2Session::kCancel);
  pair.exchange();
  EXPECT_EQ(shared.use_count(), 1) << "a stream that is gone lets go of what it was to send";
}

TEST(Http2Session, TheServersStreamLimitIsHonoured) {
  Pair pair({}, {.side = Side::kServer, .streams_max = 3});
  EXPECT_GT(pair.client.room(), 0u);
  pair.exchange();
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(pair.client.room(), 0u);
    pair.get();
  }
  EXPECT_EQ(pair.client.room(), 0u);
  pair.exchange();
  pair.server.respond(1, 204, {}, true);
  pair.exchange();
  EXPECT_GT(pair.client.room(), 0u);
}

TEST(Http2Session, StreamsAboveTheLimitAreRefusedAsUnprocessed) {
  Pair pair({}, {.side = Side::kServer, .streams_max = 2});
  // Before SETTINGS have come the client cannot know.
  for (int i = 0; i < 3; ++i) pair.get();
  pair.exchange();
  ASSERT_TRUE(pair.client_ear.streams[5].closed);
  EXPECT_TRUE(pair.client_ear.streams[5].closed->unprocessed);
  EXPECT_EQ(pair.server_ear.streams.size(), 2u);
}

TEST(Http2Session, DrainLetsRunningStreamsFinish) {
  Pair pair;
  const auto running = pair.get();
  pair.exchange();
  pair.server.drain();
  const auto late = pair.get();  // crosses the notice
  pair.exchange();
  EXPECT_TRUE(pair.client.going_away());
  EXPECT_EQ(pair.client.room(), 0u);
  EXPECT_TRUE(pair.server_ear.streams[late].head) << "what crossed the notice is still served";
  for (const auto id : {running, late}) pair.server.respond(id, 200, {}, true);
  pair.exchange();
  EXPECT_TRUE(pair.client_ear.streams[running].ended);
  EXPECT_TRUE(pair.client_ear.streams[late].ended);
  EXPECT_TRUE(pair.server.finished());
}

TEST(Http2Session, GoawayTellsWhatWasNotProcessed) {
  Lone client({.side = Side::kClient});
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(*client.session.submit({}, "https", "h", nullptr));
  client.session.take(client.out, kTakeMax);
  EXPECT_TRUE(client.feed(frame(kGoaway, 0, 0, word(3) + word(0))));
  EXPECT_FALSE(client.ear.streams[1].closed);
  EXPECT_FALSE(client.ear.streams[3].closed);
  ASSERT_TRUE(client.ear.streams[5].closed);
  EXPECT_TRUE(client.ear.streams[5].closed->unprocessed);
  EXPECT_TRUE(client.session.going_away());
  // The two that are left still get their answers.
  EXPECT_TRUE(client.feed(frame(kHeaders, kEndStream | kEndHeaders, 1, literal(":status", "200"))));
  EXPECT_EQ(client.ear.streams[1].response.status, 200);
}

TEST(Http2Session, ARequestNotYetSentIsUnprocessedToo) {
  Lone client({.side = Side::kClient});
  const auto id = *client.session.submit({}, "https", "h", nullptr);
  EXPECT_TRUE(client.feed(frame(kGoaway, 0, 0, word(0) + word(0))));
  ASSERT_TRUE(client.ear.streams[id].closed);
  EXPECT_TRUE(client.ear.streams[id].closed->unprocessed);
}

TEST(Http2Session, RefusedAndResetStreams) {
  Lone client({.side = Side::kClient});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client.session.submit({}, "https", "h", nullptr));
  client.session.take(client.out, kTakeMax);
  EXPECT_TRUE(client.feed(frame(kReset, 0, 1, word(7)) + frame(kReset, 0, 3, word(2))));
  EXPECT_TRUE(client.ear.streams[1].closed->unprocessed);
  EXPECT_FALSE(client.ear.streams[3].closed->unprocessed);
  EXPECT_EQ(client.ear.streams[3].closed->error_code, Http2Session::kInternalError);
}

TEST(Http2Guards, RapidResetIsStopped) {
  Lone server({.side = Side::kServer, .streams_max = 100});
  std::string attack;
  std::uint32_t id = 1;
  for (int i = 0; i < Http2Session::kResetBurstMin; ++i, id += 2) {
    attack += frame(kHeaders, kEndStream | kEndHeaders, id, get_head()) + frame(kReset, 0, id, word(8));
  }
  EXPECT_TRUE(server.feed(attack)) << "a burst is what a client does that stops its watches";
  EXPECT_FALSE(server.feed(frame(kHeaders, kEndStream | kEndHeaders, id, get_head()) + frame(kReset, 0, id, word(8))));
  EXPECT_EQ(goaway_code(server.out), kEnhanceYourCalm);
  EXPECT_TRUE(server.session.finished());
  EXPECT_FALSE(server.feed("x"));
}

TEST(Http2Guards, SlowResetsAreFine) {
  Lone server({.side = Side::kServer, .streams_max = 100});
  std::uint32_t id = 1;
  for (int i = 0; i < 5000; ++i, id += 2) {
    server.clock.advance(std::chrono::milliseconds(11));
    ASSERT_TRUE(server.feed(frame(kHeaders, kEndStream | kEndHeaders, id, get_head()) + frame(kReset, 0, id, word(8))));
  }
  EXPECT_EQ(server.session.streams(), 0u);
}

// CVE-2025-8671: it is the server that resets, for what the client does wrong.
TEST(Http2Guards, MadeToResetIsStopped) {
  Lone server({.side = Side::kServer, .streams_max = 100});
  bool stopped = false;
  std::uint32_t id = 1;
  for (int i = 0; i < 3000 && !stopped; ++i, id += 2) {
    stopped = !server.feed(frame(kHeaders, kEndHeaders, id, get_head()) + frame(8, 0, id, word(0)));
    stopped = stopped || server.session.finished();
  }
  EXPECT_TRUE(stopped);
}

TEST(Http2Guards, FloodsAreStopped) {
  const std::pair<const char*, std::string> floods[] = {
      {"ping", frame(kPing, 0, 0, "12345678")},
      {"settings", frame(kSettings, 0, 0, "")},
      {"priority", frame(kPriority, 0, 1, std::string("\0\0\0\3\1", 5))},
      {"empty data", frame(kData, 0, 1, "")},
  };
  for (const auto& [what, bytes] : floods) {
    Lone server;
    ASSERT_TRUE(server.feed(frame(kHeaders, kEndHeaders, 1, get_head())));
    int rounds = 0;
    while (rounds < 5000 && server.feed(bytes)) ++rounds;
    EXPECT_LT(rounds, 2100) << what;
    EXPECT_GT(rounds, 900) << what;
    EXPECT_EQ(goaway_code(server.out), kEnhanceYourCalm) << what;
  }
}

TEST(Http2Guards, BoundsUnreadAnswers) {
  Ear ear;
  base::testing::Clock clock;
  Http2Session server({.side = Side::kServer, .control_frames_per_second = 1e6}, ear);
  ASSERT_TRUE(server.feed(kPreface + frame(kSettings, 0, 0, ""), clock.monotonic()));
  int rounds = 0;
  while (rounds < 10'000 && server.feed(frame(kPing, 0, 0, "12345678"), clock.monotonic())) {
    clock.advance(std::chrono::milliseconds(1));
    ++rounds;
  }
  EXPECT_LE(rounds, 1100);
}

TEST(Http2Guards, EndlessHeaderBlocksAreStopped) {
  Lone server;
  std::string attack = frame(kHeaders, 0, 1, get_head());
  for (int i = 0; i < 20; ++i) attack += frame(kContinuation, 0, 1, literal("x", "y"));
  EXPECT_FALSE(server.feed(attack));
  EXPECT_EQ(goaway_code(server.out), kEnhanceYourCalm);
}

TEST(Http2Guards, TooManyFieldsAre431AndTheConnectionLives) {
  Http2Session::Config config{.side = Side::kServer};
  config.limits.header_count_max = 10;
  Lone server(config);
  std::string block = get_head();
  for (int i = 0; i < 10; ++i) block += literal(base::cat("x", i), "y");
  EXPECT_TRUE(server.feed(frame(kHeaders, kEndStream | kEndHeaders, 1, block)));
  EXPECT_TRUE(server.ear.streams.empty()) << "the handler never hears of it";
  EXPECT_NE(server.out.find("431"), std::string::npos);
  EXPECT_TRUE(server.feed(frame(kHeaders, kEndStream | kEndHeaders, 3, get_head("/fine"))));
  EXPECT_EQ(server.ear.streams[3].request.target, "/fine");
}

TEST(Http2Guards, AResponseHeadOverTheLimitIsAnError) {
  Http2Session::Config config{.side = Side::kClient};
  config.limits.header_bytes_max = 100;
  Lone client(config);
  const auto id = *client.session.submit({}, "https", "h", nullptr);
  client.session.take(client.out, kTakeMax);
  EXPECT_TRUE(
      client.feed(frame(kHeaders, kEndHeaders, 1, literal(":status", "200") + literal("x", std::string(100, 'y')))));
  ASSERT_TRUE(client.ear.streams[id].closed);
  ASSERT_TRUE(client.ear.streams[id].closed->error);
  EXPECT_EQ(client.ear.streams[id].closed->error->kind, ErrorKind::kExhausted);
  EXPECT_FALSE(client.ear.streams[id].head);
}

TEST(Http2Guards, MalformedMessagesAreReset) {
  const std::pair<const char*, std::string> heads[] = {
      {"no path", literal(":method", "GET") + literal(":scheme", "https")},
      {"upper case", get_head() + literal("X-Y", "z")},
      {"connection field", get_head() + literal("connection", "close")},
      {"control character", get_head() + literal("x", "a\rb")},
      {"pseudo after regular", get_head() + literal("x", "y") + literal(":method", "GET")},
      {"twice", get_head() + literal(":path", "/b")},
      {"unknown pseudo", get_head() + literal(":foo", "/b")},
  };
  for (const auto& [what, head] : heads) {
    Lone server;
    EXPECT_TRUE(server.feed(frame(kHeaders, kEndStream | kEndHeaders, 1, head))) << what;
    EXPECT_TRUE(server.ear.streams.empty()) << what;
    EXPECT_EQ(server.session.streams(), 0u) << what;
  }
  for (const char* path : {"/a b", "/a#b", "/\xc3\xa4"}) {
    Lone server;
    EXPECT_TRUE(server.feed(frame(kHeaders, kEndStream | kEndHeaders, 1, get_head(path))));
    EXPECT_TRUE(server.ear.streams.empty()) << path;
  }
}

TEST(Http2Guards, ABodyThatIsNotAsLongAsItSaidIsReset) {
  Lone server;
  EXPECT_TRUE(server.feed(frame(kHeaders, kEndHeaders, 1, get_head() + literal("content-length", "3")) +
                          frame(kData, kEndStream, 1, "abcd")));
  EXPECT_FALSE(server.ear.streams[1].ended);
  EXPECT_TRUE(server.ear.streams[1].closed);
}

TEST(Http2Session, GarbageEndsInAClearError) {
  Ear ear;
  base::testing::Clock clock;
  Http2Session server({.side = Side::kServer}, ear);
  EXPECT_FALSE(server.feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n", clock.monotonic()));
  Http2Session client({}, ear);
  (void)client.feed("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", clock.monotonic());
  std::string out;
  client.take(out, kTakeMax);
  EXPECT_TRUE(client.finished());
  EXPECT_TRUE(goaway_code(std::string_view(out).substr(kPreface.size())));
}

TEST(Http2Session, AnEarlyAnswerStopsTheRestOfTheRequest) {
  Pair pair;
  const auto id = pair.get("/", std::string(10 << 20, 'x'));
  pair.exchange();
  EXPECT_EQ(pair.server_ear.streams[id].body.size(), 1u << 20) << "as far as the window";
  pair.server.respond(id, 413, {}, true);
  pair.server.consume(id, 1 << 20);
  pair.exchange();
  EXPECT_EQ(pair.client_ear.streams[id].response.status, 413);
  EXPECT_TRUE(pair.client_ear.streams[id].ended);
  EXPECT_EQ(pair.client.streams(), 0u);
  EXPECT_EQ(pair.server.streams(), 0u);
}

TEST(Http2Session, ThousandsOfStreamsOnOneConnection) {
  Pair pair({.streams_max = 2500}, {.side = Side::kServer, .streams_max = 2500});
  pair.exchange();
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 2500; ++i) {
    ASSERT_GT(pair.client.room(), 0u);
    ids.push_back(pair.get());
  }
  EXPECT_EQ(pair.client.room(), 0u);
  pair.exchange();
  for (const auto id : ids) pair.server.respond(id, 200, {}, false);
  const Buffer event = make_buffer(std::string(300, 'e'));
  for (int round = 0; round < 5; ++round) {
    for (const auto id : ids) pair.server.send(id, event);
    pair.exchange();
  }
  for (const auto id : ids) EXPECT_EQ(pair.client_ear.streams[id].body.size(), 1500u);
  for (const auto id : ids) pair.client.reset(id, Http2Session::kCancel);
  pair.exchange();
  EXPECT_EQ(pair.server.streams(), 0u) << "stopping all at once is not an attack";
}

}  // namespace
}  // namespace tidemark::net
