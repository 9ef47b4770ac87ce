#include "hadoop/rpc_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/testing/clock.h"
#include "hadoop/testing/rpc_server.h"
#include "net/testing/loop.h"

namespace tidemark::hadoop {
namespace {

using namespace std::string_view_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::RpcServer;
using testing::SeenCall;

constexpr Method kEcho{"a.Protocol", "echo"};

class RpcClientTest : public ::testing::Test {
 protected:
  RpcConfig config(const Address& server) {
    RpcConfig made;
    made.server = server;
    made.protocol = "a.Protocol";
    made.identity.real_user = "somebody";
    made.reconnect = {.initial = milliseconds(50), .max = milliseconds(200)};
    return made;
  }
  Result<std::string> call(RpcClient& client, std::string request, base::Duration limit = seconds(30)) {
    return net::testing::run_task(loop, client.call(kEcho, std::move(request), limit));
  }
  // Repeats like a caller while the connection waits for its next attempt.
  bool call_until_answered(RpcClient& client) {
    return net::testing::run_task(loop, [](net::EventLoop& on, RpcClient& to) -> net::Task<bool> {
      for (int i = 0; i < 1000; ++i) {
        if (co_await to.call(kEcho, "again", seconds(1))) co_return true;
        co_await on.sleep(milliseconds(10));
      }
      co_return false;
    }(loop, client));
  }
  // Starts a call and keeps what it answers.
  struct Open {
    std::optional<Result<std::string>> answer;
  };
  void begin(RpcClient& client, std::string request, Open& open, base::Duration limit = seconds(30)) {
    scope.spawn([](RpcClient& to, std::string what, Open& into, base::Duration within) -> net::Task<void> {
      into.answer = co_await to.call(kEcho, std::move(what), within);
    }(client, std::move(request), open, limit));
  }
  bool until(auto&& condition) { return net::testing::run_real_until(loop, condition); }

  static RpcServer::Reply echo(const SeenCall& seen) { return "<" + seen.request + ">"; }
  static RpcServer::Reply later(const SeenCall&) { return std::nullopt; }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  net::Scope scope{loop};
};

TEST_F(RpcClientTest, SendsManyCallsOverOneConnection) {
  RpcServer server(loop, echo);
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(client, std::to_string(i)), "<" + std::to_string(i) + ">");
  ASSERT_EQ(server.connections().size(), 1U);
  EXPECT_EQ(server.connections()[0].head, "hrpc\x09\x00\x00"sv);
  EXPECT_EQ(server.connections()[0].protocol, "a.Protocol");
  EXPECT_EQ(server.connections()[0].identity.real_user, "somebody");
  EXPECT_EQ(server.connections()[0].client_id.size(), 16U);
  EXPECT_EQ(server.calls()[7].id, 7);
  EXPECT_EQ(server.calls()[7].method, "echo");
  EXPECT_EQ(server.calls()[7].protocol, "a.Protocol");
  EXPECT_EQ(client.connections_made(), 1U);
  EXPECT_EQ(client.calls_made(), 20U);
}

TEST_F(RpcClientTest, AcceptsAnswersInAnyOrder) {
  RpcServer server(loop, later);
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  Open first, second, third;
  begin(client, "1", first);
  begin(client, "2", second);
  begin(client, "3", third);
  ASSERT_TRUE(until([&] { return server.calls().size() == 3; }));
  EXPECT_EQ(server.connections().size(), 1U);
  server.answer(server.calls()[2], "c");
  server.refuse(server.calls()[0], {.exception = "org.apache.hadoop.yarn.exceptions.YarnException", .message = "no"});
  ASSERT_TRUE(until([&] { return first.answer && third.answer; }));
  EXPECT_FALSE(second.answer);
  EXPECT_EQ(**third.answer, "c");
  EXPECT_EQ(first.answer->error().message, base::cat("echo at ", server.address().text(), ": YarnException: no"));
  server.answer(server.calls()[1], "b");
  ASSERT_TRUE(until([&] { return second.answer.has_value(); }));
  EXPECT_EQ(**second.answer, "b");
}

TEST_F(RpcClientTest, TimesOutAndIgnoresALateAnswer) {
  RpcServer server(loop, [](const SeenCall& seen) -> RpcServer::Reply {
    return seen.request == "slow" ? std::nullopt : echo(seen);
  });
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  Open slow;
  begin(client, "slow", slow, milliseconds(200));
  ASSERT_TRUE(until([&] { return server.calls().size() == 1; }));
  // Others are answered meanwhile, so the server is alive and the connection stays.
  while (!slow.answer) ASSERT_TRUE(call(client, "quick"));
  EXPECT_EQ(slow.answer->error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(slow.answer->error().message, base::cat("echo at ", server.address().text(), ": no answer within 200ms"));
  server.answer(server.calls()[0], "too late");
  EXPECT_EQ(call(client, "x"), "<x>");
  EXPECT_EQ(client.connections_made(), 1U);
}

// The caller checks its permission before, and the process may be stopped between check and answer.
TEST_F(RpcClientTest, DoesNotSendACallWithoutTimeLeft) {
  RpcServer server(loop, echo);
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  EXPECT_EQ(call(client, "x"), "<x>");
  EXPECT_EQ(call(client, "late", seconds(0)).error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(call(client, "y"), "<y>");
  ASSERT_EQ(server.calls().size(), 2U);
  EXPECT_EQ(server.calls()[1].request, "y");
}

TEST_F(RpcClientTest, ReconnectsToASilentServer) {
  bool silent = true;
  RpcServer server(loop, [&](const SeenCall& seen) { return silent ? RpcServer::Reply() : echo(seen); });
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  EXPECT_EQ(call(client, "x", milliseconds(100)).error().kind, ErrorKind::kDeadline);
  silent = false;
  EXPECT_TRUE(call_until_answered(client));
  EXPECT_EQ(client.connections_made(), 2U);
}

TEST_F(RpcClientTest, FailsPendingCallsWithTheConnectionAndReconnects) {
  RpcServer server(loop, [&](const SeenCall& seen) { return seen.request == "cut" ? RpcServer::Reply() : echo(seen); });
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  EXPECT_EQ(call(client, "x"), "<x>");
  Open one, two;
  begin(client, "cut", one);
  begin(client, "cut", two);
  ASSERT_TRUE(until([&] { return server.calls().size() == 3; }));
  server.close(0);
  ASSERT_TRUE(until([&] { return one.answer && two.answer; }));
  EXPECT_EQ(one.answer->error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(two.answer->error().kind, ErrorKind::kUnavailable);
  EXPECT_TRUE(call_until_answered(client));
  EXPECT_EQ(client.connections_made(), 2U);
}

TEST_F(RpcClientTest, ReconnectsAtOnceAfterAnIdleConnectionClosed) {
  RpcServer server(loop, echo);
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  EXPECT_EQ(call(client, "x"), "<x>");
  server.close(0);
  EXPECT_TRUE(call_until_answered(client));
  EXPECT_EQ(call(client, "z"), "<z>");
  EXPECT_EQ(client.connections_made(), 2U);
}

TEST_F(RpcClientTest, FailsAtOnceWhileTheServerIsAwayAndRetriesAtTimes) {
  Address gone;
  {
    const RpcServer server(loop, echo);
    gone = server.address();
  }
  RpcConfig slow = config(gone);
  slow.reconnect = {.initial = seconds(30), .max = seconds(30)};
  RpcClient client(loop, nullptr, slow, base::Random(1));
  EXPECT_EQ(call(client, "x").error().kind, ErrorKind::kUnavailable);
  const auto second = call(client, "x");
  EXPECT_EQ(second.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(second.error().message.find("; tried again in "), std::string::npos) << second.error().message;

  RpcClient eager(loop, nullptr, config(gone), base::Random(1));
  EXPECT_FALSE(call(eager, "x"));
  const RpcServer back(loop, echo, gone.port);
  EXPECT_TRUE(call_until_answered(eager));
}

TEST_F(RpcClientTest, FailsAllWaitingCallsOfARefusedConnection) {
  RpcServer server(loop, later);
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  Open one, two;
  begin(client, "1", one);
  begin(client, "2", two);
  ASSERT_TRUE(until([&] { return server.calls().size() == 2; }));
  SeenCall connection = server.calls()[0];
  connection.id = -1;
  server.refuse(connection, {.exception = "org.apache.hadoop.security.AccessControlException",
                             .message = "SIMPLE authentication is not enabled.",
                             .detail = 15,
                             .fatal = true});
  ASSERT_TRUE(until([&] { return one.answer && two.answer; }));
  EXPECT_EQ(one.answer->error().kind, ErrorKind::kDenied);
  EXPECT_EQ(two.answer->error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(two.answer->error().message.ends_with(
      "SIMPLE authentication is not enabled.; it wants Kerberos: set hadoop.security.authentication to kerberos in the "
      "core-site.xml that is read here"))
      << two.answer->error().message;
}

TEST_F(RpcClientTest, ClosesTheConnectionOnBytesOfAnotherProtocol) {
  RpcServer server(loop, later);
  RpcClient client(loop, nullptr, config(server.address()), base::Random(1));
  Open one;
  begin(client, "1", one);
  ASSERT_TRUE(until([&] { return server.calls().size() == 1; }));
  server.send_raw(0, "HTTP/1.1 400 Bad Request\r\n\r\n");
  ASSERT_TRUE(until([&] { return one.answer.has_value(); }));
  EXPECT_NE(one.answer->error().message.find("is this a Hadoop RPC port?"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::hadoop
