// The event stream over real sockets, under simulated time.
#include "console/stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "net/testing/http.h"
#include "net/testing/loop.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;
using net::testing::HttpPair;
using net::testing::Wire;

class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pair.begin([this](net::HttpExchange& exchange) { return stream.serve(exchange); });
  }

  std::unique_ptr<net::HttpStream> open(std::string_view last_event_id = {}) {
    auto asked = net::testing::get_request("/api/v1/stream");
    if (!last_event_id.empty()) asked.headers.set("last-event-id", last_event_id);
    auto opened = pair.open(std::move(asked));
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  // Reads until `words` came.
  std::string read_until(net::HttpStream& from, std::string_view words) {
    std::string got;
    while (got.find(words) == std::string::npos) {
      const auto piece = pair.read(from);
      if (!piece || !*piece) break;
      got += **piece;
    }
    return got;
  }

  HttpPair pair{Wire::kClear};
  base::Registry metrics;
  int snapshots = 0;
  std::string padding;
  Stream stream{pair.loop, metrics, "run", [this] { return base::cat("{\"snapshot\":", ++snapshots, padding, "}"); },
                10s};
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
  for (int i = 1; i <= 3; ++i) stream.publish(base::cat("{\"a\":", i, "}"));
  const auto reader = open("run-1");
  EXPECT_EQ(read_until(*reader, "\"a\":3}\n\n"),
            "id: run-2\nevent: delta\ndata: {\"a\":2}\n\nid: run-3\nevent: delta\ndata: {\"a\":3}\n\n");
  EXPECT_EQ(snapshots, 0);
}

TEST_F(StreamTest, ResetsAReaderOfAnotherRun) {
  const auto reader = open("other-7");
  EXPECT_EQ(read_until(*reader, "\"snapshot\":1}\n\n"),
            "id: run-0\nevent: reset\ndata: {}\n\nid: run-0\nevent: snapshot\ndata: {\"snapshot\":1}\n\n");
}

TEST_F(StreamTest, ResetsAReaderWhoseFramesAreGone) {
  stream.publish("{\"a\":1}");
  stream.publish("{\"a\":2}");
  pair.clock.advance(Stream::kFrameLife + 1s);
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

TEST_F(StreamTest, SendsACommentWhileNothingChanges) {
  const auto reader = open();
  read_until(*reader, "}\n\n");
  EXPECT_TRUE(net::testing::run_real_until(pair.loop, [&] { return stream.readers() == 1; }));
  pair.clock.advance(Stream::kComment);
  EXPECT_EQ(read_until(*reader, "\n\n"), ": still here\n\n");
}

TEST_F(StreamTest, CutsAReaderThatDoesNotRead) {
  padding = base::cat(",\"p\":\"", std::string(8 << 20, 'x'), "\"");  // more than the kernel takes
  const auto reader = open();
  const auto good = open();
  ASSERT_TRUE(net::testing::run_real_until(pair.loop, [&] { return stream.readers() == 2; }));
  std::string read = read_until(*good, "}\n\n");
  EXPECT_GT(read.size(), std::size_t{8} << 20);
  pair.loop.run_ready();
  pair.clock.advance(10s);
  EXPECT_TRUE(net::testing::run_real_until(pair.loop, [&] { return stream.readers() == 1; }));
  stream.publish("{\"a\":1}");
  EXPECT_NE(read_until(*good, "\"a\":1").find("delta"), std::string::npos);
}

TEST_F(StreamTest, KeepsTheRingWithinItsBudget) {
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 6; ++i) stream.publish(large);
  const auto reader = open("run-1");
  EXPECT_TRUE(read_until(*reader, "event: snapshot").starts_with("id: run-6\nevent: reset\n"));
}

}  // namespace
}  // namespace tidemark::console
