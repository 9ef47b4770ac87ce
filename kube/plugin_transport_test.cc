#include "kube/plugin_transport.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "kube/testing/scripted_transport.h"
#include "net/testing/loop.h"

namespace tidemark::kube {
namespace {

using testing::Answer;
using namespace std::chrono_literals;

constexpr std::string_view kVersion = "client.authentication.k8s.io/v1";

std::string printed(std::string_view status, std::string_view version = kVersion) {
  return base::cat(R"({"kind":"ExecCredential","apiVersion":")", version, R"(","status":{)", status, "}}");
}

struct PluginTransportTest : ::testing::Test {
  PluginTransportTest() {
    server->answers = {Answer{}};
    plugin.user = "ops";
    plugin.api_version = kVersion;
    plugin.command = "aws";
    plugin.install_hint = "Install the AWS CLI.";
  }

  void make() {
    PluginHost host;
    host.terminal = terminal;
    host.run = [this](PluginCommand command, base::Duration limit) { return run(std::move(command), limit); };
    transport = std::make_unique<PluginTransport>(
        loop, plugin, std::move(host),
        [this](const Credential& credential) {
          connected_with.push_back(credential.certificate_pem);
          return server;
        },
        base::Random(1));
  }
  net::Task<Result<PluginEnd>> run(PluginCommand command, base::Duration limit) {
    ++runs;
    last = std::move(command);
    if (takes > limit) {
      co_await loop.sleep(limit);
      co_return fail(ErrorKind::kDeadline, "it did not exit in time and was killed");
    }
    co_await loop.sleep(takes);
    PluginEnd end = ends.front();
    if (ends.size() > 1) ends.pop_front();
    co_return end;
  }
  void prints(std::string output) {
    PluginEnd end;
    end.output = std::move(output);
    ends.push_back(std::move(end));
  }
  void fails(std::string errors) {
    PluginEnd end;
    end.exit_code = 1;
    end.errors = std::move(errors);
    ends.push_back(std::move(end));
  }

  Result<net::HttpResponse> get(base::Duration limit = 30s) {
    if (transport == nullptr) make();
    return net::testing::run_task(loop, clock, transport->fetch({}, limit));
  }
  std::string error() {
    auto response = get();
    return response ? "" : response.error().message;
  }
  std::string token_sent() const { return std::string(server->sent.back().request.headers.get("authorization")); }
  std::string time_after(base::Duration time) const { return base::format_rfc3339(clock.wall() + time); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  std::shared_ptr<testing::ScriptedTransport> server = std::make_shared<testing::ScriptedTransport>(loop);
  CredentialPlugin plugin;
  bool terminal = false;
  std::deque<PluginEnd> ends;  // the last one is repeated
  base::Duration takes{0};
  int runs = 0;
  PluginCommand last;
  std::vector<std::string> connected_with;
  std::unique_ptr<PluginTransport> transport;
};

TEST_F(PluginTransportTest, OneRunServesAllRequestsUntilTheCredentialExpires) {
  prints(printed(base::cat(R"("token":"t1","expirationTimestamp":")", time_after(1h), "\"")));
  prints(printed(R"("token":"t2")"));
  ASSERT_TRUE(get());
  clock.advance(59min);
  ASSERT_TRUE(get());
  EXPECT_EQ(token_sent(), "Bearer t1");
  EXPECT_EQ(runs, 1);
  clock.advance(1min);
  ASSERT_TRUE(get());
  EXPECT_EQ(token_sent(), "Bearer t2");
  EXPECT_EQ(transport->token(), "t2");
  clock.advance(100h);
  ASSERT_TRUE(get());
  EXPECT_EQ(runs, 2) << "a credential without an expiration is valid until the server refuses it";
}

TEST_F(PluginTransportTest, RequestsAtTheSameTimeShareOneRun) {
  prints(printed(R"("token":"t")"));
  takes = 2s;
  make();
  int done = 0;
  net::Scope scope(loop);
  for (int i = 0; i < 3; ++i) {
    scope.spawn([](PluginTransport& by, int& count) -> net::Task<void> {
      if (co_await by.fetch({}, 30s)) ++count;
    }(*transport, done));
  }
  net::testing::run_for(loop, clock, 3s);
  EXPECT_EQ(done, 3);
  EXPECT_EQ(runs, 1);
}

TEST_F(PluginTransportTest, RunsAgainAfter401AndRepeatsTheRequest) {
  prints(printed(R"("token":"t1")"));
  prints(printed(R"("token":"t2")"));
  ASSERT_TRUE(get());
  clock.advance(kPluginRunsApart);
  server->answers = {Answer{.status = 401}, Answer{}};
  const auto response = get();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(token_sent(), "Bearer t2");
}

TEST_F(PluginTransportTest, StreamRunsAgainAfter401) {
  prints(printed(R"("token":"t1")"));
  prints(printed(R"("token":"t2")"));
  ASSERT_TRUE(get());
  clock.advance(kPluginRunsApart);
  server->answers = {Answer{.status = 401}, Answer{.pieces = {"a"}}};
  const auto stream = net::testing::run_task(loop, clock, transport->open({}, 30s));
  ASSERT_TRUE(stream);
  EXPECT_EQ((*stream)->head().status, 200);
  EXPECT_EQ(token_sent(), "Bearer t2");
}

TEST_F(PluginTransportTest, ServerThatRefusesEveryCredentialGetsOneRunPerPause) {
  prints(printed(R"("token":"t")"));
  server->answers = {Answer{.status = 401}};
  for (int i = 0; i < 100; ++i) {
    const auto response = get();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 401);
    clock.advance(100ms);
  }
  EXPECT_LE(runs, 3) << "in 10 s";
}

TEST_F(PluginTransportTest, UsesTheClientCertificate) {
  prints(printed(R"("clientCertificateData":"CERT","clientKeyData":"KEY")"));
  ASSERT_TRUE(get());
  EXPECT_EQ(connected_with, std::vector<std::string>{"CERT"});
  EXPECT_EQ(token_sent(), "");
}

TEST_F(PluginTransportTest, FailureHasTheUserTheProgramAndTheInstallHint) {
  fails("no profile\n");
  EXPECT_EQ(error(),
            "cannot get a credential for user \"ops\" from \"aws\": exit code 1: no profile\n"
            "Install the AWS CLI.");
  EXPECT_TRUE(server->sent.empty());
}

TEST_F(PluginTransportTest, RefusesOtherOutput) {
  const struct {
    std::string output, wanted;
  } rows[] = {
      {"token abc", "its output is not a JSON object of kind ExecCredential"},
      {printed(R"("token":"t")", "client.authentication.k8s.io/v1beta1"), "it printed apiVersion"},
      {printed(""), "status has no token"},
      {printed(R"("clientKeyData":"k")"), "only one of"},
      {printed(R"("token":"t","expirationTimestamp":"tomorrow")"), "is not an RFC 3339 time"},
      {printed(R"("token":"a\nb")"), "the token has a character"},
  };
  for (const auto& row : rows) {
    ends.clear();
    prints(row.output);
    transport.reset();
    const std::string said = error();
    EXPECT_NE(said.find(row.wanted), std::string::npos) << said;
    EXPECT_EQ(said.find("abc"), std::string::npos) << "the output may be a secret";
  }
}

TEST_F(PluginTransportTest, FailedRunIsRepeatedAfterAPause) {
  fails("");
  prints(printed(R"("token":"t")"));
  EXPECT_NE(error(), "");
  EXPECT_NE(error(), "");
  EXPECT_EQ(runs, 1);
  clock.advance(2 * kPluginPauseInitial);
  EXPECT_EQ(error(), "");
}

TEST_F(PluginTransportTest, RequestEndsAtItsDeadlineWhileThePluginHangs) {
  prints("");
  takes = 2 * kPluginLimit;
  make();
  const auto begun = clock.monotonic();
  const auto response = get(5s);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(clock.monotonic() - begun, 5s);
  net::testing::run_for(loop, clock, kPluginLimit - 5s);
  EXPECT_NE(error().find("was killed"), std::string::npos);
}

TEST_F(PluginTransportTest, UserHasTimeToAnswerAnInteractivePlugin) {
  prints(printed(R"("token":"t")"));
  takes = 3min;
  terminal = true;
  EXPECT_TRUE(get(5s));
  EXPECT_TRUE(last.interactive);
  EXPECT_NE(last.env.back().second.find(R"("interactive":true)"), std::string::npos);
}

TEST_F(PluginTransportTest, InteractiveModeFollowsTheTerminal) {
  prints(printed(R"("token":"t")"));
  EXPECT_TRUE(get());
  EXPECT_FALSE(last.interactive);
  plugin.interactive = InteractiveMode::kAlways;
  transport.reset();
  EXPECT_NE(error().find("interactiveMode is Always, and standard input is not a terminal"), std::string::npos);
  plugin.interactive = InteractiveMode::kNever;
  terminal = true;
  transport.reset();
  EXPECT_TRUE(get());
  EXPECT_FALSE(last.interactive);
}

}  // namespace
}  // namespace tidemark::kube
