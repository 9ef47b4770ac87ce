// The check against the API server in memory: what it does while looks fail. Its arithmetic is in audit_test.
#include "cli/check_ledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "cli/testing/failing_transport.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

class CheckLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    transport = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "test");
    between = std::make_unique<testing::FailingTransport>(loop, *transport);
    client = std::make_unique<kube::Client>(
        loop, *between, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test"}, base::Random(1));
    options.length = 10s;
    options.limit = 500ms;
    options.audit.lag = 0s;
    call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"koordinator-system"}})");
  }
  void call(std::string_view method, std::string_view target, std::string body) {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers.set("content-type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
    const auto response = net::testing::run_task(loop, clock, transport->fetch(std::move(request), 10s));
    ASSERT_TRUE(response);
    ASSERT_LT(response->status, 300) << response->body;
  }
  void node(const std::string& name, std::string_view batch_cpu) {
    call("POST", "/api/v1/nodes", base::cat(R"({"metadata":{"name":")", name, R"("}})"));
    call("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         base::cat(R"({"status":{"allocatable":{"cpu":"32","kubernetes.io/batch-cpu":")", batch_cpu, R"("}}})"));
  }
  Result<CheckReport> check() { return net::testing::run_task(loop, clock, check_ledger(loop, *client, options)); }
  // The server is away in this time.
  void away(base::Duration from, base::Duration to) {
    const base::MonotonicTime start = clock.monotonic();
    between->refuses = [this, start, from, to](const net::HttpRequest&) -> std::optional<Error> {
      const base::Duration since = clock.monotonic() - start;
      if (since < from || since >= to) return std::nullopt;
      return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
    };
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> transport;
  std::unique_ptr<testing::FailingTransport> between;
  std::unique_ptr<kube::Client> client;
  CheckOptions options;
};

TEST_F(CheckLedgerTest, ALookThatFailsThrowsNothingAwayThatWasSeen) {
  node("n", "20000");  // and no report at all
  away(2s, 5s);
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->clean);
  EXPECT_NE(report->text.find("NOT CLEAN: 1 nodes"), std::string::npos) << report->text;
  EXPECT_NE(report->text.find("failed, at which nothing was seen; the last one: "), std::string::npos) << report->text;
  EXPECT_NE(report->text.find("the server went away"), std::string::npos) << report->text;

  options.json = true;
  options.length = 0s;
  const auto clean = check();
  ASSERT_TRUE(clean);
  EXPECT_EQ(Json::parse(clean->text)->at("looksFailed")->as_int(), 0);
}

// The time is for one answer: a list of many pages takes as long as it takes.
TEST_F(CheckLedgerTest, ManyPagesAreReadEachInItsTime) {
  for (int i = 0; i < 1200; ++i) node(base::cat("n", i), "0");
  node("z", "20000");
  options.length = 0s;
  options.limit = 500ms;
  between->delay = 300ms;
  auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NE(report->text.find("NOT CLEAN: 1201 nodes, 1 looks"), std::string::npos) << report->text;
  between->delay = 700ms;
  EXPECT_FALSE(check());
}

TEST_F(CheckLedgerTest, AServerThatComesLateIsWaitedFor) {
  node("n", "20000");  // and no report at all
  away(0s, 5s);
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->clean);
}

TEST_F(CheckLedgerTest, WhereNoLookSucceedsItIsAnError) {
  away(0s, 1h);
  const auto never = check();
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().message.find("the server went away"), std::string::npos) << never.error().message;

  // What no other look would mend is told at once.
  between->refuses = nullptr;
  call("POST", "/api/v1/namespaces/koordinator-system/configmaps",
       R"({"metadata":{"name":"slo-controller-config"},"data":{"colocation-config":"{"}})");
  const base::MonotonicTime begun = clock.monotonic();
  const auto refused = check();
  ASSERT_FALSE(refused);
  EXPECT_EQ(clock.monotonic(), begun);
  EXPECT_NE(refused.error().message.find("colocation-config"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace tidemark::cli
