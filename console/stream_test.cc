// The event stream over real sockets, under simulated time.
#include "console/stream.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/loop.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;
using base::cat;

class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    net::HttpServerConfig config;
    config.listen = "127.0.0.1:0";
    auto made = net::HttpServer::listen(
        loop, log, std::move(config), [this](net::HttpExchange& exchange) { return stream.serve(exchange, longest); });
    ASSERT_TRUE(made) << made.error().message;
    server = std::move(*made);
    net::HttpClientConfig to;
    to.url = *net::parse_url(cat("http://", server->address()));
    client = std::make_unique<net::HttpClient>(loop, nullptr, std::move(to));
  }
  void TearDown() override {
    client.reset();
    server.reset();
  }

  std::unique_ptr<net::HttpStream> open(std::string_view last_event_id = {}, std::string_view query = {}) {
    net::HttpRequest asked;
    asked.target = cat("/api/v1/stream", query);
    if (!last_event_id.empty()) asked.headers.set("last-event-id", last_event_id);
    auto opened = net::testing::run_task(loop, client->open(std::move(asked), kLimit));
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  // Reads until `words` came.
  std::string read_until(net::HttpStream& from, std::string_view words) {
    std::string got;
    while (got.find(words) == std::string::npos) {
      const auto piece = net::testing::run_task(loop, from.read(kLimit));
      if (!piece || !*piece) break;
      got += **piece;
    }
    return got;
  }

  static constexpr base::Duration kLimit = std::chrono::hours(1);
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<net::HttpServer> server;
  std::unique_ptr<net::HttpClient> client;
  base::Registry metrics;
  int snapshots = 0;
  std::string padding;
  std::optional<base::Duration> longest;
  Stream stream{loop, metrics, "run", [this] { return cat("{\"snapshot\":", ++snapshots, padding, "}"); }, 10s};
};

TEST_F(StreamTest, SendsASnapshotThenDeltas) {
  const auto reader = open();
  EXPECT_EQ(read_until(*reader, "}\n\n"), "id: run-0\nevent: snapshot\ndata: {\"snapshot\":1}\n\n");
  stream.publish("{\"a\":1}");
  stream.publish("{\"a\":2}");
  EXPECT_EQ(read_until(*reader, "\"a\":2}\n\n"),
            "id: run-1\nevent: delta\ndata: {\"a\":1}\n\nid: run-2\nevent: delta\ndata: {\"a\":2}\n\n");
}

TEST_F(StreamTest, MakesOneSnapshotForAllReaders) {
  const auto first = open();
  const auto second = open();
  read_until(*first, "}\n\n");
  read_until(*second, "}\n\n");
  EXPECT_EQ(snapshots, 1);
}

TEST_F(StreamTest, ResumesAfterTheLastFrame) {
  for (int i = 1; i <= 3; ++i) stream.publish(cat("{\"a\":", i, "}"));
  const auto reader = open("run-1");
  EXPECT_EQ(read_until(*reader, "\"a\":3}\n\n"),
            "id: run-2\nevent: delta\ndata: {\"a\":2}\n\nid: run-3\nevent: delta\ndata: {\"a\":3}\n\n");
  EXPECT_EQ(snapshots, 0);
}

TEST_F(StreamTest, AsksAReaderToComeBackBeforeItEnds) {
  longest = 5min;
  const auto reader = open();
  read_until(*reader, "}\n\n");
  EXPECT_TRUE(net::testing::run_real_until(loop, [&] { return stream.readers() == 1; }));
  stream.publish("{\"a\":1}");
  read_until(*reader, "\"a\":1}\n\n");
  clock.advance(5min);
  EXPECT_EQ(read_until(*reader, "no such words"), "event: ping\ndata: {}\n\nevent: again\ndata: {}\n\n")
      << "then it ends";
  stream.publish("{\"a\":2}");
  const auto again = open({}, "?after=run-1");
  EXPECT_EQ(read_until(*again, "\n\n"), "id: run-2\nevent: delta\ndata: {\"a\":2}\n\n");
  const auto automatic = open("run-2", "?after=run-1");
  stream.publish("{\"a\":3}");
  EXPECT_EQ(read_until(*automatic, "\n\n"), "id: run-3\nevent: delta\ndata: {\"a\":3}\n\n") << "the header is newer";
}

TEST_F(StreamTest, ResetsAReaderOfAnotherRun) {
  const auto reader = open("other-7");
  EXPECT_EQ(read_until(*reader, "\"snapshot\":1}\n\n"),
            "id: run-0\nevent: reset\ndata: {}\n\nid: run-0\nevent: snapshot\ndata: {\"snapshot\":1}\n\n");
}

TEST_F(StreamTest, ResetsAReaderWhoseFramesAreGone) {
  stream.publish("{\"a\":1}");
  stream.publish("{\"a\":2}");
  clock.advance(Stream::kFrameLife + 1s);
  stream.publish("{\"a\":3}");
  const auto reader = open("run-1");
  EXPECT_TRUE(read_until(*reader, "\"snapshot\":1}\n\n").starts_with("id: run-3\nevent: reset\n"));
  const auto newer = open("run-2");
  EXPECT_EQ(read_until(*newer, "\"a\":3}\n\n"), "id: run-3\nevent: delta\ndata: {\"a\":3}\n\n");
}

TEST_F(StreamTest, ResetsAReaderThatClaimsAFutureFrame) {
  const auto reader = open("run-99");
  EXPECT_TRUE(read_until(*reader, "\"snapshot\":1}\n\n").starts_with("id: run-0\nevent: reset\n"));
}

TEST_F(StreamTest, SendsAPingWhileNothingChanges) {
  const auto reader = open();
  read_until(*reader, "}\n\n");
  EXPECT_TRUE(net::testing::run_real_until(loop, [&] { return stream.readers() == 1; }));
  clock.advance(Stream::kPing);
  EXPECT_EQ(read_until(*reader, "\n\n"), "event: ping\ndata: {}\n\n");
}

TEST_F(StreamTest, CutsAReaderThatDoesNotRead) {
  padding = cat(",\"p\":\"", std::string(8 << 20, 'x'), "\"");  // more than the kernel takes
  const auto reader = open();
  const auto good = open();
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return stream.readers() == 2; }));
  std::string read = read_until(*good, "}\n\n");
  EXPECT_GT(read.size(), std::size_t{8} << 20);
  loop.run_ready();
  clock.advance(10s);
  EXPECT_TRUE(net::testing::run_real_until(loop, [&] { return stream.readers() == 1; }));
  stream.publish("{\"a\":1}");
  EXPECT_NE(read_until(*good, "\"a\":1").find("delta"), std::string::npos);
}

// Reads gzip as it comes.
class Gunzip {
 public:
  Gunzip() { EXPECT_EQ(::inflateInit2(&stream_, MAX_WBITS + 16), Z_OK); }
  ~Gunzip() { ::inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  void take(std::string piece) {
    stream_.next_in = reinterpret_cast<Bytef*>(piece.data());
    stream_.avail_in = static_cast<uInt>(piece.size());
    while (!is_over && stream_.avail_in > 0) {
      std::string out(1 << 16, '\0');
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = static_cast<uInt>(out.size());
      const int done = ::inflate(&stream_, Z_SYNC_FLUSH);
      ASSERT_TRUE(done == Z_OK || done == Z_STREAM_END) << done;
      text += out.substr(0, out.size() - stream_.avail_out);
      is_over = done == Z_STREAM_END;
    }
  }
  std::string text;
  bool is_over = false;  // and the checksum was right

 private:
  z_stream stream_{};
};

TEST_F(StreamTest, CompressesAFrameOnceForReadersThatAcceptIt) {
  longest = 5min;
  padding = cat(",\"p\":\"", std::string(200'000, 'x'), "\"");
  const auto packed = [&](std::string_view query) {
    net::HttpRequest asked;
    asked.target = cat("/api/v1/stream", query);
    asked.headers.set("accept-encoding", "gzip, br");
    return std::move(*net::testing::run_task(loop, client->open(std::move(asked), kLimit)));
  };
  Gunzip first, second;
  const auto until = [&](net::HttpStream& from, Gunzip& into, std::string_view words) {
    std::size_t bytes = 0;
    while (into.text.find(words) == std::string::npos) {
      const auto piece = net::testing::run_task(loop, from.read(kLimit));
      if (!piece || !*piece) break;
      bytes += (*piece)->size();
      into.take(**piece);
    }
    return bytes;
  };
  const auto reader = packed("");
  EXPECT_EQ(reader->head().headers.get("content-encoding"), "gzip");
  EXPECT_LT(until(*reader, first, "\n\n"), 10'000U);
  for (int i = 1; i <= 3; ++i) stream.publish(cat("{\"a\":", i, "}"));
  until(*reader, first, "\"a\":3}\n\n");
  EXPECT_TRUE(first.text.starts_with("id: run-0\nevent: snapshot\n")) << first.text.substr(0, 100);
  const auto later = packed("?after=run-1");
  until(*later, second, "\"a\":3}\n\n");
  EXPECT_EQ(second.text, "id: run-2\nevent: delta\ndata: {\"a\":2}\n\nid: run-3\nevent: delta\ndata: {\"a\":3}\n\n");
  clock.advance(5min);
  for (auto [from, into] : {std::pair(reader.get(), &first), std::pair(later.get(), &second)}) {
    until(*from, *into, "no such words");
    EXPECT_TRUE(into->text.ends_with("event: again\ndata: {}\n\n"));
    EXPECT_TRUE(into->is_over);
  }
}

TEST_F(StreamTest, KeepsTheRingWithinItsBudget) {
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 6; ++i) stream.publish(large);
  const auto reader = open("run-1");
  EXPECT_TRUE(read_until(*reader, "event: snapshot").starts_with("id: run-6\nevent: reset\n"));
}

}  // namespace
}  // namespace tidemark::console
