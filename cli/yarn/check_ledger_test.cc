// The check against the API server in memory: what it does while looks fail. Its arithmetic is in audit_test.
#include "cli/yarn/check_ledger.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "operate/testing/api_in_memory.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

class CheckLedgerTest : public operate::testing::ApiInMemory {
 protected:
  CheckLedgerTest() {
    options.length = 10s;
    options.watch.limit = 500ms;
    options.audit.lag = 0s;
  }
  void node(const std::string& name, std::string_view batch_cpu) {
    call("POST", "/api/v1/nodes", base::cat(R"({"metadata":{"name":")", name, R"("}})"));
    call("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         base::cat(R"({"status":{"allocatable":{"cpu":"32","kubernetes.io/batch-cpu":")", batch_cpu, R"("}}})"));
  }
  Result<CheckReport> check() { return net::testing::run_task(loop, clock, check_ledger(loop, client, options, over)); }
  // The server is away in this time.
  void away(base::Duration from, base::Duration to) {
    const base::MonotonicTime start = clock.monotonic();
    between.refuses = [this, start, from, to](const net::HttpRequest&) -> std::optional<Error> {
      const base::Duration since = clock.monotonic() - start;
      if (since < from || since >= to) return std::nullopt;
      return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
    };
  }

  CheckOptions options;
  net::Event over{loop};
};

TEST_F(CheckLedgerTest, FailureKeepsFindingsAndIsReportedWithTime) {
  node("n", "20000");  // and no report at all
  between.streams_break_at = clock.monotonic() + 4s;
  away(4s, 7s);
  options.json = true;
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->clean);
  const Json json = *Json::parse(report->text);
  EXPECT_GE(json.at("failures")->as_int(), 4) << "of each kind";
  EXPECT_FALSE(json.text_at("lastFailure").empty());
  const double blind_s = json.at("blindSeconds")->as_double();
  EXPECT_GE(blind_s, 3);
  EXPECT_LT(blind_s, 6);
  EXPECT_NEAR(json.at("causes")->as_array()[0].at("cpuCoreSeconds")->as_double(), 20 * (10 - blind_s), 0.1);

  options.json = false;
  options.length = 0s;
  const auto once = check();
  ASSERT_TRUE(once);
  EXPECT_TRUE(once->text.starts_with("NOT CLEAN: 1 nodes")) << once->text;
  EXPECT_EQ(once->text.find("failed"), std::string::npos) << once->text;
}

TEST_F(CheckLedgerTest, EarlyStopReportsFindings) {
  node("n", "20000");  // and no report at all
  options.length = 24h;
  options.json = true;
  auto end = [&]() -> net::Task<void> {
    co_await loop.sleep(4s);
    over.set();
  };
  net::Scope scope(loop);
  scope.spawn(end());
  const base::MonotonicTime start = clock.monotonic();
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_LE(clock.monotonic() - start, 5s);
  EXPECT_FALSE(report->clean);
  EXPECT_GE(Json::parse(report->text)->at("causes")->as_array()[0].at("cpuCoreSeconds")->as_double(), 20 * 3);
}

// Between two looks of one that polls each second.
TEST_F(CheckLedgerTest, FollowsEveryEvent) {
  node("n", "0");
  const auto set = [this](std::string_view batch_cpu) -> net::Task<void> {
    net::HttpRequest request;
    request.method = "PATCH";
    request.target = "/api/v1/nodes/n/status";
    request.body = base::cat(R"({"status":{"allocatable":{"kubernetes.io/batch-cpu":")", batch_cpu, R"("}}})");
    request.headers.set("content-type", "application/merge-patch+json");
    const auto answer = co_await transport.fetch(std::move(request), 10s);
    EXPECT_TRUE(answer && answer->status == 200);
  };
  auto change = [&]() -> net::Task<void> {
    co_await loop.sleep(3100ms);
    co_await set("20000");
    co_await loop.sleep(350ms);
    co_await set("8000");
    co_await loop.sleep(100ms);
    co_await set("0");
  };
  net::Scope scope(loop);
  scope.spawn(change());
  options.json = true;
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->clean);
  const Json json = *Json::parse(report->text);
  const Json& cause = json.at("causes")->as_array()[0];
  EXPECT_EQ(cause.text_at("id"), "TM-AUDIT-005") << report->text;
  EXPECT_NEAR(cause.at("cpuCoreSeconds")->as_double(), 20 * 0.35 + 8 * 0.1, 1e-6);
  EXPECT_EQ(cause.at("times")->as_int(), 1);
}

TEST_F(CheckLedgerTest, NewSettingsApplyAtOnce) {
  node("n", "20000");  // and no report at all, which profile tidemark lets decay
  auto change = [&]() -> net::Task<void> {
    co_await loop.sleep(4s);
    net::HttpRequest request;
    request.method = "POST";
    request.target = "/api/v1/namespaces/koordinator-system/configmaps";
    request.body = R"({"metadata":{"name":"tidemark-config"},"data":{"config.yaml":"profile: tidemark"}})";
    request.headers.set("content-type", "application/json");
    const auto answer = co_await transport.fetch(std::move(request), 10s);
    EXPECT_TRUE(answer && answer->status == 201);
  };
  net::Scope scope(loop);
  scope.spawn(change());
  options.json = true;
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  const Json json = *Json::parse(report->text);
  EXPECT_NEAR(json.at("causes")->as_array()[0].at("cpuCoreSeconds")->as_double(), 20 * 4, 1e-6) << report->text;
}

// The time is for one answer: a list of many pages takes as long as it takes.
TEST_F(CheckLedgerTest, ReadsManyPagesWithTimeoutPerPage) {
  for (int i = 0; i < 1200; ++i) node(base::cat("n", i), "0");
  node("z", "20000");
  options.length = 0s;
  options.watch.limit = 500ms;
  between.delay = 300ms;
  auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NE(report->text.find("NOT CLEAN: 1201 nodes, "), std::string::npos) << report->text;
  between.delay = 700ms;
  EXPECT_FALSE(check());
}

TEST_F(CheckLedgerTest, WaitsForLateServer) {
  node("n", "20000");  // and no report at all
  away(0s, 5s);
  options.json = true;
  const auto report = check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->clean);
  const Json json = *Json::parse(report->text);
  EXPECT_NEAR(json.at("causes")->as_array()[0].at("cpuCoreSeconds")->as_double(), 20 * 10, 0.1) << "for the whole time";
}

TEST_F(CheckLedgerTest, FailsIfNoReadSucceeds) {
  away(0s, 1h);
  const auto never = check();
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().message.find("the server went away"), std::string::npos) << never.error().message;

  // A permanent failure is reported at once.
  between.refuses = nullptr;
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
