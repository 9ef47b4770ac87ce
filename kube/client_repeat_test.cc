// The client: refusals, repeats, the budget, and what is counted of them.
#include <gtest/gtest.h>

#include <string>

#include "kube/actions.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/testdata.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::ClientTest;
using testing::testdata;

TEST_F(ClientTest, DoesNotRetryARefusal) {
  transport.answers = {{.status = 404, .body = testdata("status_not_found.json")}};
  auto got = get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(got.error().message, "GET /api/v1/namespaces/default/pods/a: pods \"none\" not found (HTTP 404, NotFound)");
  EXPECT_EQ(transport.sent.size(), 1u);
}

TEST_F(ClientTest, ReadsHonorRetryAfter) {
  transport.answers = {{.status = 429, .retry_after = "3"}, {.status = 503, .retry_after = "2"}, {.body = "ok"}};
  EXPECT_EQ(get().value(), "ok");
  ASSERT_EQ(transport.sent.size(), 3u);
  EXPECT_GE(between(0, 1), 3s);
  EXPECT_LE(between(0, 1), 3750ms);
  EXPECT_GE(between(1, 2), 2s);
}

TEST_F(ClientTest, RetriesReadsWithBackoffAfterBrokenConnection) {
  Error broken{ErrorKind::kUnavailable, "connection reset", 0, 0};
  transport.answers = {{.error = broken}, {.error = broken}, {.error = broken}, {.body = "ok"}};
  EXPECT_EQ(get().value(), "ok");
  ASSERT_EQ(transport.sent.size(), 4u);
  EXPECT_GT(between(0, 1), 0s);
  EXPECT_GT(between(2, 3), between(0, 1));
}

TEST_F(ClientTest, StopsAtTheRetryLimit) {
  transport.answers = {{.status = 503}};
  auto got = get(1h);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(transport.sent.size(), 10u);
}

TEST_F(ClientTest, DoesNotWaitBeyondTheDeadline) {
  transport.answers = {{.status = 429, .retry_after = "60"}};
  const base::MonotonicTime before = clock.monotonic();
  auto got = get(10s);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kExhausted) << "the reason, not a deadline";
  EXPECT_EQ(got.error().retry_after_ms, 60'000);
  EXPECT_EQ(clock.monotonic(), before);
}

TEST_F(ClientTest, TheDeadlineCoversAllAttempts) {
  Answer slow{.status = 503, .delay = 4s};
  transport.answers = {slow};
  const base::MonotonicTime before = clock.monotonic();
  ASSERT_FALSE(get(10s));
  EXPECT_LE(clock.monotonic() - before, 10s);
}

TEST_F(ClientTest, DoesNotRetryA500) {
  transport.answers = {{.status = 500}};
  EXPECT_EQ(get().error().kind, ErrorKind::kInternal);
  EXPECT_EQ(transport.sent.size(), 1u);
}

TEST_F(ClientTest, RetriesWritesOnlyIfTheyDidNotBegin) {
  const auto patch = [&] { return run(client->patch(kNodes, "n", PatchType::kMerge, "{}", {}, 30s)); };
  transport.answers = {{.status = 429, .retry_after = "1"}, {.status = 503, .retry_after = "1"}, {}};
  EXPECT_TRUE(patch());
  EXPECT_EQ(transport.sent.size(), 3u);
  for (const Answer& unclear :
       {Answer{.status = 503}, Answer{.status = 504, .retry_after = "1"}, Answer{.status = 500}, Answer{.status = 409},
        Answer{.error = Error{ErrorKind::kUnavailable, "connection reset", 0, 0}}}) {
    transport.sent.clear();
    transport.answers = {unclear};
    EXPECT_FALSE(patch());
    EXPECT_EQ(transport.sent.size(), 1u) << unclear.status;
  }
}

TEST_F(ClientTest, DoesNotRetryDisruptionBudgetRefusal) {
  transport.answers = {{.status = 429, .retry_after = "1"}};
  auto evicted = run(evict_pod(*client, "web", "a", {}, 30s));
  ASSERT_FALSE(evicted);
  EXPECT_EQ(evicted.error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(transport.sent.size(), 1u);
}

TEST_F(ClientTest, BudgetDelaysCallsAndCountsTheWait) {
  make({.queries_per_second = 2, .burst = 1});
  transport.answers = {{}};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(get());
  EXPECT_EQ(between(0, 1), 500ms);
  EXPECT_EQ(between(1, 2), 500ms);
  auto late = get(100ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(transport.sent.size(), 3u);
}

TEST_F(ClientTest, PriorityCallsUseOwnBudgetThenTheOrdinaryOne) {
  make({.queries_per_second = 2, .burst = 1, .ahead_per_second = 1, .ahead_burst = 2});
  transport.answers = {{}};
  const auto ahead = [&](base::Duration limit) { return run(client->ahead().get(kPods, "web", "a", limit)); };
  ASSERT_TRUE(get());
  ASSERT_FALSE(get(100ms)) << "the ordinary budget is used up";
  ASSERT_TRUE(ahead(100ms));
  ASSERT_TRUE(ahead(100ms));
  EXPECT_EQ(between(0, 2), 0ms);
  ASSERT_TRUE(ahead(600ms));
  EXPECT_EQ(between(2, 3), 500ms) << "in the ordinary line";
  EXPECT_EQ(&client->ahead(), &client->ahead());
}

TEST_F(ClientTest, WriteWithReservedPlaceDoesNotWait) {
  make({.queries_per_second = 2, .burst = 1});
  transport.answers = {{}};
  ASSERT_TRUE(get());
  auto place = run(client->take_place(30s));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->waited(), 500ms);
  WriteOptions options;
  options.place = *place;
  ASSERT_TRUE(run(client->patch(kNodes, "a", PatchType::kMerge, "{}", options, 1ms)));
  EXPECT_EQ(between(0, 1), 500ms);
  ASSERT_TRUE(run(client->patch(kNodes, "a", PatchType::kMerge, "{}", options, 30s))) << "used up: it waits like any";
  EXPECT_EQ(between(1, 2), 500ms);
}

TEST_F(ClientTest, RetryWaitsForItsOwnPlace) {
  make({.queries_per_second = 0.1, .burst = 1});
  transport.answers = {{.status = 429, .retry_after = "1"}, {}};
  WriteOptions options;
  options.place = *run(client->take_place(30s));
  ASSERT_TRUE(run(client->patch(kNodes, "a", PatchType::kMerge, "{}", options, 30s)));
  EXPECT_EQ(between(0, 1), 10s);
}

TEST_F(ClientTest, PlaceWithoutAWriteIsReturned) {
  make({.queries_per_second = 2, .burst = 1});
  transport.answers = {{}};
  {
    const auto place = run(client->take_place(30s));
  }
  EXPECT_EQ(client->budget_wait(), 0s);
  const auto place = run(client->take_place(30s));
  const auto late = run(client->take_place(499ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kDeadline);
}

TEST_F(ClientTest, PriorityCallTakesTheEarlierPlace) {
  make({.queries_per_second = 1, .burst = 1, .ahead_per_second = 4, .ahead_burst = 1});
  transport.answers = {{}};
  ASSERT_TRUE(get());
  ASSERT_TRUE(run(client->ahead().get(kPods, "web", "a", 30s)));
  ASSERT_TRUE(run(client->ahead().get(kPods, "web", "a", 30s)));
  EXPECT_EQ(between(1, 2), 250ms) << "its own budget, which is refilled sooner";
}

TEST_F(ClientTest, DoesNotFollowRedirects) {
  transport.answers = {{.status = 302, .body = ""}};
  token = "t";
  EXPECT_EQ(get().error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(transport.sent.size(), 1u);
}

TEST_F(ClientTest, RequestsAreCountedByVerbAndOutcome) {
  base::Registry metrics;
  ClientConfig config;
  config.metrics = &metrics;
  config.queries_per_second = 0.5;
  config.burst = 2;
  make(std::move(config));
  const auto requests = [&](std::string_view verb, std::string_view reason) {
    return metrics.counter("tidemark_client_requests_total", "", {{"component", verb}, {"reason", reason}}).value();
  };
  transport.answers = {{.status = 429, .retry_after = "1"},
                       {.error = Error{ErrorKind::kUnavailable, "connection refused", 0, 0}},
                       {.delay = 100ms}};
  EXPECT_TRUE(get());
  transport.answers = {{.status = 404}, {.status = 409}};
  EXPECT_FALSE(get());
  EXPECT_FALSE(run(client->patch(kPods, "a", PatchType::kMerge, "{}", {}, 30s)));
  transport.answers = {{.pieces = {}}};
  EXPECT_TRUE(run(client->watch(kPods, {})));

  EXPECT_EQ(requests("get", "throttled"), 1u);
  EXPECT_EQ(requests("get", "unreachable"), 1u);
  EXPECT_EQ(requests("get", "ok"), 1u);
  EXPECT_EQ(requests("get", "not_found"), 1u);
  EXPECT_EQ(requests("patch", "conflict"), 1u);
  EXPECT_EQ(requests("watch", "ok"), 1u);
  EXPECT_EQ(metrics.counter("tidemark_client_repeats_total", "", {{"component", "get"}}).value(), 2u);
  const std::string page = metrics.text();
  const auto says = [&](std::string_view line) { return page.find(line) != std::string::npos; };
  EXPECT_TRUE(says("tidemark_client_request_seconds_count{component=\"get\"} 4\n")) << page;
  EXPECT_TRUE(says("tidemark_client_request_seconds_sum{component=\"get\"} 0.1\n")) << page;
  EXPECT_TRUE(says("tidemark_client_budget_wait_seconds_count 6\n")) << page;
  EXPECT_FALSE(says("tidemark_client_budget_wait_seconds_bucket{le=\"0.5\"} 6\n")) << "the burst is used up: " << page;
}

}  // namespace
}  // namespace tidemark::kube
