// The client against a transport whose answers are written down: what goes over the wire, and what happens when it goes
// wrong. That a real server agrees is the contract suite's business.
#include "kube/client.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

#include "base/testing/clock.h"
#include "kube/actions.h"
#include "kube/testing/testdata.h"
#include "net/testing/loop.h"

namespace tidemark::kube {
namespace {

using namespace std::chrono_literals;
using testing::testdata;

struct Answer {
  int status = 200;
  std::string body = "{}";
  std::string retry_after{};
  base::Duration delay{0};
  std::optional<Error> error{};  // instead of an answer
  // For streams: pieces, then the end; `hangs`: then silence.
  std::vector<std::string> pieces{};
  bool hangs = false;
};

struct Sent {
  net::HttpRequest request;
  base::MonotonicTime at;
};

WriteOptions in(std::string_view ns) {
  WriteOptions options;
  options.ns = ns;
  return options;
}

class ScriptedTransport final : public net::HttpTransport {
 public:
  explicit ScriptedTransport(net::EventLoop& loop) : loop_(loop) {}

  std::deque<Answer> answers;  // the last one is repeated
  std::vector<Sent> sent;

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    const Answer answer = take(std::move(request));
    if (answer.delay > limit) {
      co_await loop_.sleep(limit);
      co_return base::fail(ErrorKind::kDeadline, "no answer in time");
    }
    if (answer.delay > 0s) co_await loop_.sleep(answer.delay);
    if (answer.error) co_return base::fail(*answer.error);
    co_return net::HttpResponse{answer.status, headers(answer), answer.body};
  }

  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration) override {
    const Answer answer = take(std::move(request));
    if (answer.error) co_return base::fail(*answer.error);
    co_return std::make_unique<Stream>(loop_, answer);
  }

 private:
  class Stream final : public net::HttpStream {
   public:
    Stream(net::EventLoop& loop, Answer answer) : loop_(loop), answer_(std::move(answer)) {
      head_ = {answer_.status, headers(answer_)};
      if (answer_.pieces.empty() && answer_.status >= 300) answer_.pieces.push_back(answer_.body);
    }
    const net::HttpResponseHead& head() const override { return head_; }
    net::Task<Result<std::optional<std::string>>> read(base::Duration limit) override {
      if (next_ < answer_.pieces.size()) co_return std::optional(answer_.pieces[next_++]);
      if (!answer_.hangs) co_return std::nullopt;
      co_await loop_.sleep(limit);
      co_return base::fail(ErrorKind::kDeadline, "nothing to read in time");
    }

   private:
    net::EventLoop& loop_;
    Answer answer_;
    net::HttpResponseHead head_;
    std::size_t next_ = 0;
  };

  static net::Headers headers(const Answer& answer) {
    net::Headers made;
    if (!answer.retry_after.empty()) made.add("retry-after", answer.retry_after);
    return made;
  }

  Answer take(net::HttpRequest request) {
    sent.push_back({std::move(request), loop_.clock().monotonic()});
    TM_CHECK(!answers.empty(), "the script has no answer");
    Answer answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return answer;
  }

  net::EventLoop& loop_;
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() { make({}); }
  void make(ClientConfig config) {
    client = std::make_unique<Client>(loop, transport, [this] { return token; }, std::move(config), base::Random(1));
  }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop, clock, std::move(task));
  }
  const net::HttpRequest& request(std::size_t i = 0) { return transport.sent.at(i).request; }
  base::Duration between(std::size_t a, std::size_t b) { return transport.sent.at(b).at - transport.sent.at(a).at; }
  Result<std::string> get(base::Duration limit = 30s) { return run(client->get(kPods, "default", "a", limit)); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  ScriptedTransport transport{loop};
  std::string token;
  std::unique_ptr<Client> client;
};

// ---- what is counted ----

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

// ---- what is told of writes ----

TEST_F(ClientTest, EveryWriteIsToldWithWhatCameOfIt) {
  std::vector<model::AuditLine> told;
  ClientConfig config;
  config.audit_actor = "somebody";
  config.audit = [&](model::AuditLine line) { told.push_back(std::move(line)); };
  make(std::move(config));
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
  EXPECT_EQ(told[0].outcome, model::AuditOutcome::kDone);
  EXPECT_EQ(told[0].trace.size(), 36u);
  EXPECT_EQ(request(0).headers.get("audit-id"), told[0].trace) << "so that the server's own audit log has the same";
  EXPECT_NE(told[0].trace, told[1].trace);
  EXPECT_EQ(told[1].verb + " " + told[1].ns + " " + told[1].name, "create system c");
  EXPECT_EQ(told[1].outcome, model::AuditOutcome::kRefused);
  EXPECT_EQ(told[2].verb + " " + told[2].name, "delete p");
  EXPECT_EQ(told[2].new_value, "");
  EXPECT_EQ(told[2].outcome, model::AuditOutcome::kUnknown) << "it may have happened";
}

TEST_F(ClientTest, WhatChangesNothingIsNotToldAndSecretsNeverAre) {
  std::vector<model::AuditLine> told;
  ClientConfig config;
  config.audit = [&](model::AuditLine line) { told.push_back(std::move(line)); };
  make(std::move(config));
  transport.answers = {{}};
  WriteOptions dry;
  dry.dry_run = true;
  run(client->patch(kNodes, "n", PatchType::kMerge, "{}", dry, 5s)).value();
  run(client->create(kEvents, "{}", in("web"), "", 5s)).value();
  run(client->get(kNodes, "", "n", 5s)).value();
  EXPECT_TRUE(told.empty());
  run(client->ahead().patch(kSecrets, "s", PatchType::kMerge, R"({"data":{"tls.key":"c2VjcmV0"}})", in("web"), 5s))
      .value();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].name, "s");
  EXPECT_EQ(told[0].new_value, "");
}

// ---- what goes over the wire ----

TEST_F(ClientTest, Paths) {
  EXPECT_EQ(resource_path(kNodes, "", "n1", "status"), "/api/v1/nodes/n1/status");
  EXPECT_EQ(resource_path(kPods, "", ""), "/api/v1/pods");
  EXPECT_EQ(resource_path(kPods, "a", "b", "eviction"), "/api/v1/namespaces/a/pods/b/eviction");
  EXPECT_EQ(resource_path(kLeases, "a", "b"), "/apis/coordination.k8s.io/v1/namespaces/a/leases/b");
  EXPECT_EQ(resource_path(kNodeMetrics, "ignored", "n"), "/apis/slo.koordinator.sh/v1alpha1/nodemetrics/n");
  EXPECT_EQ(resource_path(kPods, "a/../b", "c?d"), "/api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd");
}

TEST_F(ClientTest, GetCarriesTheTokenOfTheMoment) {
  transport.answers = {{.body = "{\"a\":1}"}};
  EXPECT_EQ(get().value(), "{\"a\":1}");
  EXPECT_EQ(request().method, "GET");
  EXPECT_EQ(request().target, "/api/v1/namespaces/default/pods/a");
  EXPECT_EQ(request().headers.get("accept"), "application/json");
  EXPECT_EQ(request().headers.get("user-agent"), "tidemark");
  EXPECT_FALSE(request().headers.has("authorization"));
  token = "one";
  get().value();
  token = "two";
  get().value();
  EXPECT_EQ(request(1).headers.get("authorization"), "Bearer one");
  EXPECT_EQ(request(2).headers.get("authorization"), "Bearer two");
}

TEST_F(ClientTest, ATokenThatWouldSplitTheHeaderIsNotSent) {
  token = "x\r\nimpersonate-user: admin";
  auto got = get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(got.error().message.find("admin"), std::string::npos);
  EXPECT_TRUE(transport.sent.empty());
}

TEST_F(ClientTest, PatchesNameTheirKindManagerAndDryRun) {
  transport.answers = {{}};
  WriteOptions options;
  options.subresource = "status";
  run(client->patch(kNodes, "n1", PatchType::kMerge, "{\"status\":{}}", options, 5s)).value();
  options.dry_run = true;
  options.field_manager = "tidemark manager";
  run(client->patch(kNodes, "n1", PatchType::kStrategicMerge, "{}", options, 5s)).value();
  run(client->patch(kNodes, "n1", PatchType::kJson, "[]", options, 5s)).value();
  EXPECT_EQ(request(0).method, "PATCH");
  EXPECT_EQ(request(0).target, "/api/v1/nodes/n1/status?fieldManager=tidemark");
  EXPECT_EQ(request(0).body, "{\"status\":{}}");
  EXPECT_EQ(request(0).headers.get("content-type"), "application/merge-patch+json");
  EXPECT_EQ(request(1).target, "/api/v1/nodes/n1/status?fieldManager=tidemark%20manager&dryRun=All");
  EXPECT_EQ(request(1).headers.get("content-type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(request(2).headers.get("content-type"), "application/json-patch+json");
}

TEST_F(ClientTest, CreateAndRemove) {
  transport.answers = {{.status = 201}, {}};
  WriteOptions options;
  options.ns = "web";
  run(client->create(kPods, "{\"kind\":\"Pod\"}", options, "", 5s)).value();
  EXPECT_EQ(request(0).method, "POST");
  EXPECT_EQ(request(0).target, "/api/v1/namespaces/web/pods?fieldManager=tidemark");
  EXPECT_EQ(request(0).headers.get("content-type"), "application/json");
  ASSERT_TRUE(run(client->remove(kPods, "a", "", options, 5s)));
  EXPECT_EQ(request(1).method, "DELETE");
  EXPECT_EQ(request(1).target, "/api/v1/namespaces/web/pods/a");
  EXPECT_EQ(request(1).body, "");
  ASSERT_TRUE(run(client->remove(kPods, "a", "uid-1", options, 5s)));
  EXPECT_EQ(request(2).body, R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"uid-1"}})");
  options.dry_run = true;
  transport.answers = {{}};
  ASSERT_TRUE(run(client->remove(kPods, "a", "uid-1", options, 5s)));
  EXPECT_EQ(request(3).body,
            R"({"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"],"preconditions":{"uid":"uid-1"}})");
}

TEST_F(ClientTest, OptionsOfACallerThatIsGoneDoNotMatter) {
  transport.answers = {{}};
  net::Task<Result<std::string>> task;
  {
    std::string ns = "a-namespace-too-long-for-the-small-string";
    std::string name = "a-name-too-long-for-the-small-string-buffer";
    const Resource resource = kPods;
    task = client->get(resource, ns, name, 5s);
    ns.assign(ns.size(), '#');
    name.assign(name.size(), '#');
  }
  run(std::move(task)).value();
  EXPECT_EQ(
      request().target,
      "/api/v1/namespaces/a-namespace-too-long-for-the-small-string/pods/a-name-too-long-for-the-small-string-buffer");
}

TEST_F(ClientTest, EvictAndBind) {
  transport.answers = {{.status = 201}};
  ASSERT_TRUE(run(evict_pod(*client, "web", "a", {.grace_period_s = 30, .uid = "u1"}, 5s)));
  EXPECT_EQ(request(0).target, "/api/v1/namespaces/web/pods/a/eviction?fieldManager=tidemark");
  EXPECT_EQ(request(0).body, R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a","namespace":"web"},)"
                             R"("deleteOptions":{"gracePeriodSeconds":30,"preconditions":{"uid":"u1"}}})");
  ASSERT_TRUE(run(bind_pod(*client, "web", "a", "u1", "n1", 5s)));
  EXPECT_EQ(request(1).target, "/api/v1/namespaces/web/pods/a/binding?fieldManager=tidemark");
  EXPECT_EQ(request(1).body,
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a","namespace":"web","uid":"u1"},)"
            R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
}

// ---- refusals and repeats ----

TEST_F(ClientTest, ARefusalIsNotRepeated) {
  transport.answers = {{.status = 404, .body = testdata("status_not_found.json")}};
  auto got = get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(got.error().message, "GET /api/v1/namespaces/default/pods/a: pods \"none\" not found (HTTP 404, NotFound)");
  EXPECT_EQ(transport.sent.size(), 1u);
}

TEST_F(ClientTest, ReadsWaitAsLongAsTheServerSays) {
  transport.answers = {{.status = 429, .retry_after = "3"}, {.status = 503, .retry_after = "2"}, {.body = "ok"}};
  EXPECT_EQ(get().value(), "ok");
  ASSERT_EQ(transport.sent.size(), 3u);
  EXPECT_GE(between(0, 1), 3s);
  EXPECT_LE(between(0, 1), 3750ms);
  EXPECT_GE(between(1, 2), 2s);
}

TEST_F(ClientTest, ReadsAreRepeatedAfterABrokenConnectionWithGrowingWaits) {
  Error broken{ErrorKind::kUnavailable, "connection reset", 0, 0};
  transport.answers = {{.error = broken}, {.error = broken}, {.error = broken}, {.body = "ok"}};
  EXPECT_EQ(get().value(), "ok");
  ASSERT_EQ(transport.sent.size(), 4u);
  EXPECT_GT(between(0, 1), 0s);
  EXPECT_GT(between(2, 3), between(0, 1));
}

TEST_F(ClientTest, RepeatsEndWithTheirNumber) {
  transport.answers = {{.status = 503}};
  auto got = get(1h);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(transport.sent.size(), 10u);
}

TEST_F(ClientTest, AWaitBeyondTheDeadlineIsNotBegun) {
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

TEST_F(ClientTest, A500IsNotRepeated) {
  transport.answers = {{.status = 500}};
  EXPECT_EQ(get().error().kind, ErrorKind::kInternal);
  EXPECT_EQ(transport.sent.size(), 1u);
}

TEST_F(ClientTest, WritesAreRepeatedOnlyWhenTheyDidNotBegin) {
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

TEST_F(ClientTest, ADisruptionBudgetsNoIsNotRepeated) {
  transport.answers = {{.status = 429, .retry_after = "1"}};
  auto evicted = run(evict_pod(*client, "web", "a", {}, 30s));
  ASSERT_FALSE(evicted);
  EXPECT_EQ(evicted.error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(transport.sent.size(), 1u);
}

TEST_F(ClientTest, TheBudgetSpacesCallsAndItsWaitCounts) {
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

TEST_F(ClientTest, WhatGoesAheadHasABudgetOfItsOwnAndThenTheOrdinaryOne) {
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

TEST_F(ClientTest, RedirectsAreNotFollowed) {
  transport.answers = {{.status = 302, .body = ""}};
  token = "t";
  EXPECT_EQ(get().error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(transport.sent.size(), 1u);
}

// ---- lists ----

std::string page(std::string_view revision, std::string_view next, std::string_view items) {
  return base::cat(R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")", revision,
                   R"(","continue":")", next, R"("},"items":[)", items, "]}");
}

class ListTest : public ClientTest {
 protected:
  Result<std::string> list(ListOptions options = {}, base::Duration limit = 60s) {
    return run(client->list(
        kPods, std::move(options),
        [this](std::string_view text) -> Result<void> {
          pages.emplace_back(text);
          if (pages.size() == refuse_page) return base::fail(ErrorKind::kExhausted, "the cache is full");
          return {};
        },
        [this] {
          ++restarts;
          pages.clear();
        },
        limit));
  }
  std::vector<std::string> pages;
  int restarts = 0;
  std::size_t refuse_page = 0;
};

const Answer kExpired{.status = 410, .body = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"};

TEST_F(ListTest, FollowsContinueTokens) {
  transport.answers = {{.body = page("7", "c/1+", "1")}, {.body = page("7", "c2", "2")}, {.body = page("7", "", "3")}};
  ListOptions options;
  options.ns = "web";
  options.label_selector = "app in (a,b),!c";
  options.field_selector = "spec.nodeName=n1";
  options.page_size = 2;
  options.resource_version = "0";
  EXPECT_EQ(list(options).value(), "7");
  EXPECT_EQ(pages.size(), 3u);
  EXPECT_EQ(request(0).target,
            "/api/v1/namespaces/web/pods?labelSelector=app%20in%20%28a%2Cb%29%2C%21c&"
            "fieldSelector=spec.nodeName%3Dn1&limit=2&resourceVersion=0");
  EXPECT_EQ(request(1).target,
            "/api/v1/namespaces/web/pods?labelSelector=app%20in%20%28a%2Cb%29%2C%21c&"
            "fieldSelector=spec.nodeName%3Dn1&limit=2&continue=c%2F1%2B");
}

TEST_F(ListTest, AnExpiredContinueTokenStartsOver) {
  transport.answers = {
      {.body = page("7", "c1", "1")}, kExpired, {.body = page("9", "c3", "2")}, {.body = page("9", "", "3")}};
  EXPECT_EQ(list().value(), "9");
  EXPECT_EQ(restarts, 1);
  EXPECT_EQ(pages.size(), 2u);
  EXPECT_EQ(request(2).target, "/api/v1/pods?limit=500");
}

TEST_F(ListTest, ThatExpiresAlwaysIsAskedForAtOnce) {
  transport.answers = {{.body = page("7", "c1", "1")},
                       kExpired,
                       {.body = page("8", "c2", "1")},
                       kExpired,
                       {.body = page("9", "", "1,2,3")}};
  EXPECT_EQ(list().value(), "9");
  EXPECT_EQ(restarts, 2);
  EXPECT_EQ(pages.size(), 1u);
  EXPECT_EQ(request(4).target, "/api/v1/pods");
}

TEST_F(ListTest, TheFirstPagesExpiryIsTheCallers) {
  transport.answers = {kExpired};
  ListOptions options;
  options.resource_version = "5";
  EXPECT_EQ(list(options).error().kind, ErrorKind::kGone);
  EXPECT_EQ(restarts, 0);
}

TEST_F(ListTest, ARefusedPageEndsIt) {
  transport.answers = {{.body = page("7", "c1", "1")}, {.body = page("7", "c2", "1")}};
  refuse_page = 2;
  EXPECT_EQ(list().error().message, "the cache is full");
  EXPECT_EQ(transport.sent.size(), 2u);
}

TEST_F(ListTest, AServerThatGoesInCirclesIsLeft) {
  transport.answers = {{.body = page("7", "c1", "1")}};
  EXPECT_EQ(list().error().kind, ErrorKind::kInternal);
  EXPECT_EQ(transport.sent.size(), 2u);
}

TEST_F(ListTest, APageThatBreaksIsFetchedAgain) {
  transport.answers = {{.body = page("7", "c1", "1")},
                       {.error = Error{ErrorKind::kUnavailable, "connection reset", 0, 0}},
                       {.body = page("7", "", "2")}};
  EXPECT_EQ(list().value(), "7");
  EXPECT_EQ(pages.size(), 2u);
  EXPECT_EQ(request(2).target, request(1).target);
}

TEST_F(ListTest, GarbageIsAnError) {
  transport.answers = {{.body = "<html>"}};
  EXPECT_EQ(list().error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(pages.empty());
}

TEST_F(ListTest, OneDeadlineForAllPages) {
  transport.answers = {{.body = page("7", "c1", "1"), .delay = 4s},
                       {.body = page("7", "c2", "1"), .delay = 4s},
                       {.body = page("7", "c3", "1"), .delay = 4s}};
  EXPECT_EQ(list({}, 10s).error().kind, ErrorKind::kDeadline);
  EXPECT_EQ(pages.size(), 2u);
}

// ---- watches ----

class WatchTest : public ClientTest {
 protected:
  Result<std::unique_ptr<WatchStream>> open(WatchOptions options = {}) {
    return run(client->watch(kConfigMaps, std::move(options)));
  }
};

TEST_F(WatchTest, EventsThenAProperEnd) {
  const std::string body = testdata("watch_config_maps.txt");
  transport.answers = {{.pieces = {body.substr(0, 100), body.substr(100, 700), body.substr(800)}}};
  WatchOptions options;
  options.ns = "default";
  options.label_selector = "a=b";
  options.resource_version = "235";
  auto stream = open(options).value();
  const std::string& target = request().target;
  EXPECT_TRUE(
      target.starts_with("/api/v1/namespaces/default/configmaps?watch=true&allowWatchBookmarks=true&"
                         "labelSelector=a%3Db&resourceVersion=235&timeoutSeconds="))
      << target;
  const auto timeout = base::parse_int(target.substr(target.rfind('=') + 1));
  ASSERT_TRUE(timeout);
  EXPECT_LE(*timeout, 480);
  EXPECT_GE(*timeout, 384) << "spread, so that watches do not end together";
  std::vector<EventType> types;
  while (true) {
    auto event = run(stream->next()).value();
    if (!event) break;
    types.push_back(event->type);
  }
  EXPECT_EQ(types, (std::vector<EventType>{EventType::kAdded, EventType::kModified, EventType::kDeleted,
                                           EventType::kBookmark}));
  EXPECT_EQ(run(stream->next()).value(), std::nullopt) << "the end stays the end";
}

TEST_F(WatchTest, AnExpiredRevisionIsGone) {
  transport.answers = {{.pieces = {testdata("watch_expired.txt")}}};
  auto stream = open().value();
  EXPECT_EQ(run(stream->next()).error().kind, ErrorKind::kGone);
  transport.answers = {kExpired};
  EXPECT_EQ(open().error().kind, ErrorKind::kGone) << "also when it is told by the status line";
}

TEST_F(WatchTest, AnEndInTheMiddleOfAnEventIsABreak) {
  const std::string body = testdata("watch_config_maps.txt");
  transport.answers = {{.pieces = {body.substr(0, body.size() / 2)}}};
  auto stream = open().value();
  while (true) {
    auto event = run(stream->next());
    if (event) {
      ASSERT_TRUE(*event) << "a proper end would lose the rest";
      continue;
    }
    EXPECT_EQ(event.error().kind, ErrorKind::kUnavailable);
    break;
  }
}

TEST_F(WatchTest, SilenceIsABreak) {
  transport.answers = {{.hangs = true}};
  WatchOptions options;
  options.silence_limit = 90s;
  auto stream = open(options).value();
  const base::MonotonicTime before = clock.monotonic();
  auto event = run(stream->next());
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(clock.monotonic() - before, 90s);
}

TEST_F(WatchTest, OpeningIsRepeatedWhenTheServerIsBusy) {
  transport.answers = {{.status = 429, .retry_after = "1"}, {.pieces = {}}};
  auto stream = open();
  ASSERT_TRUE(stream) << stream.error().message;
  EXPECT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(run((*stream)->next()).value(), std::nullopt);
}

TEST_F(WatchTest, ARefusalHasTheServersWords) {
  transport.answers = {{.status = 401, .body = testdata("status_unauthorized.json")}};
  auto stream = open();
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().kind, ErrorKind::kDenied);
  EXPECT_NE(stream.error().message.find("Unauthorized"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::kube
