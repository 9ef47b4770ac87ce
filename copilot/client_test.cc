// Over a real unix socket, against a server that answers as the peer's copilot does.
#include "copilot/client.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "net/testing/http.h"

namespace tidemark::copilot {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kId = "container_1700000000000_0001_01_000002";

struct CopilotClient : ::testing::Test {
  CopilotClient() {
    pair.begin([this](net::HttpExchange& exchange) -> net::Task<void> {
      asked = base::cat(exchange.head().method, " ", exchange.head().target);
      auto body = co_await exchange.body(64 * 1024);
      got = body.value_or("");
      if (hangs) co_await pair.loop.sleep(1h);
      exchange.respond(status, "application/json", answer);
    });
  }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(pair.loop, std::move(task));
  }
  void say(int with_status, std::string with_answer) {
    status = with_status;
    answer = std::move(with_answer);
  }

  static constexpr base::Duration kLimit = std::chrono::seconds(30);
  int status = 200;
  std::string answer = "{}";
  bool hangs = false;
  std::string asked, got;
  net::testing::HttpPair pair{net::testing::Wire::kUnix};
  // The pair's own client is there once it has begun.
  Client client() { return Client(*pair.client); }
};

TEST_F(CopilotClient, ItsFiveRoutes) {
  say(200, R"({"name":"yarn","version":"v1"})");
  EXPECT_EQ(run(client().information(kLimit))->name, "yarn");
  EXPECT_EQ(asked, "GET /information");

  say(200, "[]");
  EXPECT_EQ(run(client().containers(kLimit))->containers.size(), 0u);
  EXPECT_EQ(asked, "GET /v1/containers");

  say(200, base::cat(R"({"name":")", kId, R"("})"));
  EXPECT_EQ(run(client().container(std::string(kId), kLimit))->name, kId);
  EXPECT_EQ(asked, base::cat("GET /v1/container?containerID=", kId));

  say(200, base::cat(R"({"items":[{"name":")", kId, R"("}]})"));
  EXPECT_EQ(run(client().kill(std::string(kId), kLimit))->name, kId);
  EXPECT_EQ(asked, "POST /v1/killContainer");
  EXPECT_EQ(got, base::cat(R"({"containerID":")", kId, R"("})"));

  EXPECT_EQ(run(client().kill_by_resource({{2000}, {1 << 30}}, kLimit))->size(), 1u);
  EXPECT_EQ(asked, "POST /v1/killContainersByResource");
  EXPECT_EQ(got, R"({"resources":{"cpu":"2","memory":"1Gi"}})");
}

// Our copilot answers 202. Koordinator's answers 404 with text to an unknown path (copilot contract 10).
TEST_F(CopilotClient, AStopIsARouteOfOurs) {
  say(202, R"({"containerID":"x","killedAt":"2026-11-22T20:00:30Z"})");
  EXPECT_TRUE(run(client().stop({std::string(kId), 30s, "TM-EVICT-001"}, kLimit)));
  EXPECT_EQ(asked, "POST /tidemark/v1/stop");
  EXPECT_EQ(got, base::cat(R"({"containerID":")", kId, R"(","graceSeconds":30,"reason":"TM-EVICT-001"})"));
  say(404, "404 page not found");
  EXPECT_EQ(run(client().stop({"x", 30s, ""}, kLimit)).error().kind, ErrorKind::kUnsupported);
  say(503, R"({"error":"the NodeManager hangs"})");
  EXPECT_EQ(run(client().stop({"x", 30s, ""}, kLimit)).error().kind, ErrorKind::kUnavailable);
}

TEST_F(CopilotClient, PermitIsARouteOfOurs) {
  say(200, R"({"says":"disks: no limit"})");
  EXPECT_EQ(run(client().send_limit_permit(LimitPermit::kOff, kLimit)).value(), "disks: no limit");
  EXPECT_EQ(asked, "POST /tidemark/v1/permit");
  EXPECT_EQ(got, R"({"permit":"off"})");
  say(200, base::cat(R"({"says":")", std::string(5000, 'x'), R"("})"));
  EXPECT_EQ(run(client().send_limit_permit(LimitPermit::kKeep, kLimit))->size(), kSaysBytesMax);
  say(404, "404 page not found");
  EXPECT_EQ(run(client().send_limit_permit(LimitPermit::kKeep, kLimit)).error().kind, ErrorKind::kUnsupported);
}

TEST_F(CopilotClient, EveryPermitHasAWord) {
  for (const LimitPermit each : {LimitPermit::kKeep, LimitPermit::kEnforce, LimitPermit::kRestore, LimitPermit::kOff}) {
    EXPECT_EQ(parse_limit_permit(to_string(each)), each);
  }
  EXPECT_FALSE(parse_limit_permit("OFF"));
}

TEST_F(CopilotClient, AnIdIsOneWord) {
  say(200, R"({"name":"x"})");
  EXPECT_TRUE(run(client().container("a&b=/../c", kLimit)));
  EXPECT_EQ(asked, "GET /v1/container?containerID=a%26b%3D%2F..%2Fc");
}

// Copilot contract 10: a failure is 400, and the body is normally {}.
TEST_F(CopilotClient, A400SaysLittle) {
  say(400, "{}");
  const auto refused = run(client().containers(kLimit));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(refused.error().message, "GET /v1/containers: the copilot answered 400");
  EXPECT_EQ(refused.error().code, 400);
  say(400, R"({"Offset":3})");
  EXPECT_EQ(run(client().kill("x", kLimit)).error().message,
            R"(POST /v1/killContainer: the copilot answered 400 "{\"Offset\":3}")");
}

// Copilot contract 10: not implemented, 200 with an empty body.
TEST_F(CopilotClient, EmptySuccessMeansNotImplemented) {
  say(200, "");
  EXPECT_EQ(run(client().kill_by_resource({}, kLimit)).error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(run(client().kill("x", kLimit)));
  EXPECT_FALSE(run(client().containers(kLimit)));
}

TEST_F(CopilotClient, DoesNotAwaitHangingCopilot) {
  hangs = true;
  const auto late = run(client().containers(50ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kDeadline);
}

TEST_F(CopilotClient, AbsentCopilotIsUnavailable) {
  pair.server.reset();
  pair.client->close_idle_connections();
  const auto away = run(client().information(kLimit));
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().kind, ErrorKind::kUnavailable);
}

TEST(CopilotSocket, IsAnAbsolutePath) {
  EXPECT_EQ(socket_config("/run/yarn-copilot.sock")->url.host, "/run/yarn-copilot.sock");
  EXPECT_EQ(socket_config("/run/yarn-copilot.sock")->url.scheme, "unix");
  EXPECT_FALSE(socket_config("yarn-copilot.sock"));
  EXPECT_FALSE(socket_config(""));
}

}  // namespace
}  // namespace tidemark::copilot
