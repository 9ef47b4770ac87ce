// The audit lines of the client's writes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/testing/scripted_transport.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;
using model::AuditOutcome;
using testing::Answer;
using testing::ClientTest;
using testing::in;

class ClientAudit : public ClientTest {
 protected:
  ClientAudit() { make_audited({}); }
  void make_audited(ClientConfig config) {
    config.audit_actor = "somebody";
    config.audit = [this](model::AuditLine line) { told.push_back(std::move(line)); };
    make(std::move(config));
  }
  Result<std::string> patch(base::Duration limit = 5s) {
    return run(client->patch(kNodes, "n", PatchType::kMerge, "{}", {}, limit));
  }
  // The only audit line since the last call.
  model::AuditLine only_line() {
    EXPECT_EQ(told.size(), 1u);
    model::AuditLine line = told.empty() ? model::AuditLine() : told[0];
    told.clear();
    return line;
  }
  // Starts a write, waits for `time`, and destroys the waiting task.
  void give_up_after(base::Duration time) {
    net::Scope scope(loop);
    const auto begin = [&]() -> net::Task<void> {
      (void)co_await client->patch(kNodes, "n", PatchType::kMerge, "{}", {}, 1min);
    };
    scope.spawn(begin());
    net::testing::run_for(loop, clock, time);
    EXPECT_EQ(scope.running(), 1u);
  }
  std::vector<model::AuditLine> told;
};

TEST_F(ClientAudit, ReportsEveryWriteWithItsResult) {
  transport.answers = {{}, {.status = 409}, {.error = Error{ErrorKind::kUnavailable, "the line is cut", 0, 0}}};
  WriteOptions options;
  options.subresource = "status";
  options.note = {"TM-WRITE-005", R"({"a":1})", "0123456789abcdef"};
  run(client->patch(kNodes, "n", PatchType::kMerge, R"({"a":2})", options, 5s)).value();
  EXPECT_FALSE(run(client->create(kConfigMaps, R"({"metadata":{"name":"c"}})", in("system"), "", 5s)));
  EXPECT_FALSE(run(client->remove(kPods, "p", "uid", in("web"), 5s)));

  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].actor, "somebody");
  EXPECT_EQ(told[0].verb + " " + told[0].kind + " " + told[0].name + " " + told[0].part, "patch Node n status");
  EXPECT_EQ(told[0].old_value, R"({"a":1})");
  EXPECT_EQ(told[0].new_value, R"({"a":2})");
  EXPECT_EQ(told[0].reason, "TM-WRITE-005");
  EXPECT_EQ(told[0].config, "0123456789abcdef");
  EXPECT_EQ(told[0].outcome, AuditOutcome::kDone);
  EXPECT_EQ(told[0].trace.size(), 36u);
  EXPECT_EQ(request(0).headers.get("audit-id"), told[0].trace) << "so that the server's own audit log has the same";
  EXPECT_NE(told[0].trace, told[1].trace);
  EXPECT_EQ(told[1].verb + " " + told[1].ns + " " + told[1].name, "create system c");
  EXPECT_EQ(told[1].outcome, AuditOutcome::kRefused);
  EXPECT_EQ(told[2].verb + " " + told[2].name, "delete p");
  EXPECT_EQ(told[2].new_value, "");
  EXPECT_EQ(told[2].outcome, AuditOutcome::kUnknown) << "it may have happened";
}

TEST_F(ClientAudit, OmitsReadsAndSecretContents) {
  transport.answers = {{}};
  WriteOptions dry;
  dry.dry_run = true;
  run(client->patch(kNodes, "n", PatchType::kMerge, "{}", dry, 5s)).value();
  run(client->create(kEvents, "{}", in("web"), "", 5s)).value();
  run(client->get(kNodes, "", "n", 5s)).value();
  EXPECT_TRUE(told.empty());
  run(client->ahead().patch(kSecrets, "s", PatchType::kMerge, R"({"data":{"tls.key":"c2VjcmV0"}})", in("web"), 5s))
      .value();
  const model::AuditLine line = only_line();
  EXPECT_EQ(line.name, "s");
  EXPECT_EQ(line.new_value, "");
}

TEST_F(ClientAudit, OmitsWritesThatWereNotSent) {
  transport.answers = {{.error = Error{ErrorKind::kUnavailable, "connection refused", 0, 0}, .unsent = true}};
  EXPECT_FALSE(patch());
  token = "no\ntoken";
  EXPECT_FALSE(patch());
  token.clear();
  make_audited({.queries_per_second = 0.1, .burst = 1});
  transport.answers = {{}};
  run(client->get(kNodes, "", "n", 5s)).value();
  EXPECT_FALSE(patch()) << "no place in the budget within the time";
  make_audited({.read_only = true});
  EXPECT_FALSE(patch());
  EXPECT_TRUE(told.empty());
}

TEST_F(ClientAudit, RefusalMeansThatTheServerDidNothing) {
  struct Case {
    Answer answer;
    AuditOutcome outcome;
  };
  for (const Case& each : {Case{{.status = 201}, AuditOutcome::kDone}, Case{{.status = 302}, AuditOutcome::kRefused},
                           Case{{.status = 403}, AuditOutcome::kRefused}, Case{{.status = 422}, AuditOutcome::kRefused},
                           Case{{.status = 503, .retry_after = "60"}, AuditOutcome::kRefused},
                           Case{{.status = 503}, AuditOutcome::kUnknown}, Case{{.status = 500}, AuditOutcome::kUnknown},
                           Case{{.status = 504}, AuditOutcome::kUnknown}}) {
    transport.answers = {each.answer};
    (void)patch();
    EXPECT_EQ(only_line().outcome, each.outcome) << each.answer.status;
  }
  transport.answers = {{.delay = 10s}};
  EXPECT_FALSE(patch());
  EXPECT_EQ(only_line().outcome, AuditOutcome::kUnknown);
}

TEST_F(ClientAudit, UnsentRetryKeepsResultOfTheFirstAttempt) {
  make_audited({.queries_per_second = 0.1, .burst = 1});
  transport.answers = {{.status = 429, .retry_after = "1"}};
  EXPECT_FALSE(patch());
  const model::AuditLine line = only_line();
  EXPECT_EQ(line.outcome, AuditOutcome::kRefused);
  EXPECT_NE(line.detail.find("budget"), std::string::npos) << line.detail;
}

TEST_F(ClientAudit, ReportsWriteAfterItsCallerIsGone) {
  transport.answers = {{.delay = 10s}};
  give_up_after(1s);
  const model::AuditLine line = only_line();
  EXPECT_EQ(line.outcome, AuditOutcome::kUnknown);
  EXPECT_EQ(line.detail, "given up before the answer came");
  EXPECT_EQ(line.took, 1s);

  transport.answers = {{.status = 429, .retry_after = "10"}, {}};
  give_up_after(1s);
  EXPECT_EQ(only_line().outcome, AuditOutcome::kRefused) << "the first try was, and there was no second";
}

TEST_F(ClientAudit, OmitsWriteCancelledBeforeSending) {
  transport.answers = {{.delay = 10s, .unsent = true}};
  give_up_after(1s);
  make_audited({.queries_per_second = 0.1, .burst = 1});
  transport.answers = {{}};
  run(client->get(kNodes, "", "n", 5s)).value();
  give_up_after(1s);
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace tidemark::kube
