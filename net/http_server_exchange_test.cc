// One exchange without a connection: how fast its body must come, under a clock moved by hand.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/testing/clock.h"
#include "net/http_server_connection.h"
#include "net/testing/loop.h"

namespace tidemark::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class NoOutlet final : public ServerExchange::Outlet {
 public:
  void send_head(int, const Headers&, Body, std::size_t) override {}
  void send_body(Buffer) override {}
  void send_end() override {}
  void send_abort() override {}
  std::size_t queued() const override { return 0; }
  void may_end_now() override {}
  void body_wanted() override {}
  void body_consumed(std::size_t) override {}
};

class HttpServerExchangeTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kBodyMax = 4 << 20;

  HttpServerExchangeTest() { scope.spawn(read()); }

  Task<void> read() {
    body.emplace(co_await exchange.body(kBodyMax));
    at = clock.monotonic() - begin;
  }
  // `bytes` now, and as many again each `pause`, until the reader has had enough or the time is over.
  void drip(std::size_t bytes, base::Duration pause, base::Duration time) {
    loop.run_ready();
    for (base::Duration past(0); past < time && !body; past += pause) {
      exchange.on_body(std::string(bytes, 'x'));
      testing::run_for(loop, clock, pause);
    }
  }

  base::testing::Clock clock;
  EventLoop loop{clock};

  static HttpServerConfig config() {
    HttpServerConfig config;
    config.body_grace = seconds(30);
    config.body_rate_min = 1000;
    return config;
  }
  ServerContext context{loop, base::Log(clock, {.write = [](std::string_view) {}}), config(), {}};
  Peer peer;
  NoOutlet outlet;
  ServerExchange exchange{context, peer, outlet, HttpRequest{}};
  const base::MonotonicTime begin = clock.monotonic();
  std::optional<Result<std::string>> body;
  base::Duration at{0};
  Scope scope{loop};
};

TEST_F(HttpServerExchangeTest, ABodyThatDripsIs408AtItsTime) {
  drip(1, seconds(1), std::chrono::hours(24));
  ASSERT_TRUE(body && !*body) << "a byte a second may not hold a request for a day";
  EXPECT_EQ(body->error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(body->error().code, 408);
  EXPECT_NE(body->error().message.find("comes too slowly"), std::string::npos) << body->error().message;
  EXPECT_GE(at, seconds(30));
  EXPECT_LE(at, seconds(31)) << "30 bytes earn 30 ms";
}

TEST_F(HttpServerExchangeTest, WhatHasComeEarnsTime) {
  drip(900, seconds(1), seconds(250));
  EXPECT_FALSE(body) << "900 bytes a second use the grace up at 0.1 s a second";
  drip(900, seconds(1), seconds(100));
  ASSERT_TRUE(body && !*body);
  EXPECT_GE(at, seconds(295));
  EXPECT_LE(at, seconds(305));
}

TEST_F(HttpServerExchangeTest, ASteadyBodyMayTakeItsTime) {
  drip(1000, seconds(1), seconds(3600));
  EXPECT_FALSE(body);
  exchange.on_body_end();
  loop.run_ready();
  ASSERT_TRUE(body && *body);
  EXPECT_EQ((*body)->size(), 3'600'000u);
}

TEST_F(HttpServerExchangeTest, SilenceEndsAtTheIdleLimit) {
  context.config.body_grace = std::chrono::hours(1);
  drip(1, milliseconds(1), milliseconds(1));
  testing::run_for(loop, clock, context.config.idle_timeout);
  ASSERT_TRUE(body && !*body);
  EXPECT_EQ(body->error().code, 408);
  EXPECT_EQ(at, context.config.idle_timeout);
}

}  // namespace
}  // namespace tidemark::net
