#include "hadoop/secure_connection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/testing/clock.h"
#include "hadoop/rpc_client.h"
#include "hadoop/testing/gss.h"
#include "hadoop/testing/rpc_server.h"
#include "net/testing/loop.h"

namespace tidemark::hadoop {
namespace {

using namespace std::string_view_literals;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeGss;
using testing::RpcServer;
using testing::SeenCall;

constexpr Method kSecureConnectionEcho{"a.Protocol", "echo"};

class SecureConnectionTest : public ::testing::Test {
 protected:
  RpcClient& client(std::vector<Protection> wanted = {Protection::kAuthentication}) {
    RpcConfig made;
    made.server = server.address();
    made.protocol = "a.Protocol";
    made.identity.real_user = "somebody";
    made.security = Security{{"rm/_HOST@EXAMPLE", ""}, std::move(wanted)};
    made.gss = gss;
    made.connect_limit = seconds(10);
    made.reconnect = {.initial = milliseconds(10), .max = milliseconds(50)};
    mine = std::make_unique<RpcClient>(loop, nullptr, made, base::Random(1));
    return *mine;
  }
  Result<std::string> call(RpcClient& of, std::string request) {
    return net::testing::run_task(loop, of.call(kSecureConnectionEcho, std::move(request), seconds(30)));
  }
  std::string why_not(RpcClient& of) {
    const auto answer = call(of, "x");
    if (answer) return "";
    EXPECT_TRUE(server.calls().empty());  // nothing was sent to it
    return answer.error().message.substr(answer.error().message.find(": ") + 2);
  }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  RpcServer server{loop, [](const SeenCall& seen) -> RpcServer::Reply { return "<" + seen.request + ">"; }};
  std::shared_ptr<FakeGss> gss = std::make_shared<FakeGss>();
  std::unique_ptr<RpcClient> mine;
};

TEST_F(SecureConnectionTest, SendsCallsUnwrappedWithAuthenticationOnly) {
  RpcClient& of = client();
  EXPECT_EQ(call(of, "one"), "<one>");
  EXPECT_EQ(call(of, "two"), "<two>");
  ASSERT_EQ(server.connections().size(), 1U);
  EXPECT_EQ(server.connections()[0].head, "hrpc\x09\x00\xdf"sv);
  EXPECT_EQ(server.connections()[0].protocol, "a.Protocol");
  EXPECT_EQ(server.connections()[0].identity.real_user, "");  // the ticket identifies the caller
  EXPECT_EQ(server.chosen_layer(), "\x01\x00\x00\x00"sv);
  EXPECT_EQ(gss->servers, std::vector<std::string>{"rm/host.example@EXAMPLE"});
  EXPECT_EQ(gss->looked_up, std::vector<std::string>{"127.0.0.1"});
  ASSERT_EQ(server.initiated().size(), 1U);
  EXPECT_EQ(server.initiated()[0], (SaslMethod{"KERBEROS", "GSSAPI", "rm", "host.example"}));
}

TEST_F(SecureConnectionTest, ProtectsEachPieceIfAgreed) {
  for (const Protection each : {Protection::kIntegrity, Protection::kPrivacy}) {
    RpcClient& of = client({each});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(call(of, std::to_string(i)), "<" + std::to_string(i) + ">");
    EXPECT_EQ(of.connections_made(), 1U);
    EXPECT_EQ(server.chosen_layer()[0], each == Protection::kIntegrity ? 2 : 4);
  }
}

TEST_F(SecureConnectionTest, SplitsWhatExceedsTheServersLimit) {
  server.sasl.layers = std::string("\x04\x00\x00\x20", 4);  // 32 bytes a token
  RpcClient& of = client({Protection::kPrivacy});
  const std::string large(3000, 'x');
  EXPECT_EQ(call(of, large), "<" + large + ">");
  server.sasl.layers = std::string("\x04\x00\x00\x0a", 4);
  const auto answer = call(client({Protection::kPrivacy}), "x");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("takes tokens of 10 bytes, in which nothing goes"), std::string::npos);
}

TEST_F(SecureConnectionTest, ReceivesALargeAnswerWhole) {
  RpcClient& of = client({Protection::kPrivacy});
  const std::string large(3'000'000, 'y');
  EXPECT_EQ(call(of, large), "<" + large + ">");
}

TEST_F(SecureConnectionTest, SendsNothingToAServerWithoutKerberos) {
  server.sasl.simple_only = true;
  EXPECT_EQ(why_not(client()).find("the server requires no authentication (SIMPLE)"), 0U);
  server.sasl = {};
  server.sasl.methods.pop_back();
  EXPECT_EQ(why_not(client()),
            "the server offers TOKEN and not KERBEROS, which hadoop.security.authentication asks for here: nothing is "
            "sent to "
            "it");
}

TEST_F(SecureConnectionTest, SendsNothingToAnUnexpectedServer) {
  server.sasl.proof = "of somebody else";
  EXPECT_EQ(why_not(client()), "unexpected server");
  server.sasl = {};
  server.sasl.methods.back().server_id = "elsewhere";
  EXPECT_EQ(why_not(client()).find("the server calls itself rm/elsewhere"), 0U);
  server.sasl = {};
  server.sasl.layers[0] = 3;
  EXPECT_EQ(why_not(client({Protection::kPrivacy})),
            "hadoop.rpc.protection: wanted privacy, the server has authentication,integrity");
}

TEST_F(SecureConnectionTest, RejectsLessProtectionThanAgreed) {
  server.sasl.weaker = true;
  auto answer = call(client({Protection::kPrivacy}), "x");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("a message in the clear, where privacy was agreed on"), std::string::npos);
  server.sasl = {};
  server.sasl.in_the_clear = true;
  answer = call(client({Protection::kIntegrity}), "x");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("where SASL was wanted"), std::string::npos) << answer.error().message;
}

TEST_F(SecureConnectionTest, ReportsMissingTicketsAndRetriesWithThem) {
  gss->refusal = Error{ErrorKind::kDenied, "no ticket: run kinit", 0, 0};
  RpcClient& of = client();
  EXPECT_EQ(why_not(of), "no ticket: run kinit");
  gss->refusal.reset();
  const auto answered = [&](net::EventLoop& on) -> net::Task<bool> {
    for (int i = 0; i < 1000; ++i) {
      if (co_await of.call(kSecureConnectionEcho, "again", seconds(1))) co_return true;
      co_await on.sleep(milliseconds(10));
    }
    co_return false;
  };
  EXPECT_TRUE(net::testing::run_task(loop, answered(loop)));
}

TEST_F(SecureConnectionTest, ReconnectsAfterALostContext) {
  RpcClient& of = client({Protection::kIntegrity});
  EXPECT_EQ(call(of, "x"), "<x>");
  gss->lost = Error{ErrorKind::kUnavailable, "the context is lost", 0, 0};
  const auto answer = call(of, "y");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(answer.error().message.find("protecting what is sent: the context is lost"), std::string::npos);
  gss->lost.reset();
  const auto answered = [&](net::EventLoop& on) -> net::Task<bool> {
    for (int i = 0; i < 1000; ++i) {
      if (co_await of.call(kSecureConnectionEcho, "again", seconds(1))) co_return true;
      co_await on.sleep(milliseconds(10));
    }
    co_return false;
  };
  EXPECT_TRUE(net::testing::run_task(loop, answered(loop)));
  EXPECT_EQ(of.connections_made(), 2U);
}

TEST_F(SecureConnectionTest, TimesOutOnASilentServer) {
  RpcConfig config;
  config.server = server.address();
  config.protocol = "a.Protocol";
  config.security = Security{{"rm/_HOST@EXAMPLE", ""}, {Protection::kAuthentication}};
  config.gss = gss;
  config.connect_limit = milliseconds(200);
  server.sasl.silent = true;
  RpcClient of(loop, nullptr, config, base::Random(1));
  const auto answer = call(of, "x");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kDeadline);
  EXPECT_NE(answer.error().message.find("not agreed on within"), std::string::npos) << answer.error().message;
}

}  // namespace
}  // namespace tidemark::hadoop
