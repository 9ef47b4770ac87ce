#include "agent/evict/ending.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/testing/killer.h"
#include "base/json.h"
#include "kube/testing/scripted_transport.h"
#include "policy/explain/admission_text.h"

namespace tidemark::agent {
namespace {

using kube::testing::Answer;
using linux::KillReport;
using policy::admission::EvictionDenial;
using policy::evict::EvictOutcome;
using namespace std::chrono_literals;

struct EndingTest : kube::testing::ClientTest {
  EndingTest() {
    ending = std::make_unique<Ending>(
        loop,
        EndingOutside{*client, *client, "n1", killer, [this](const model::Task&) { return told_by; }, &yarn_reclaim,
                      [this](model::AuditLine line) { audit.push_back(std::move(line)); }},
        log, "agent n1");
  }

  static model::Task pod() {
    model::Task task;
    task.kind = model::TaskKind::kPod;
    task.identity.source = "kubernetes";
    task.identity.task = "u1";
    task.ns = "jobs";
    task.name = "crunch-0";
    task.path = "kubepods/besteffort/podu1";
    return task;
  }
  static model::Task of(model::TaskKind kind, std::string id) {
    model::Task task;
    task.kind = kind;
    task.identity.source = "yarn";
    task.identity.task = task.name = std::move(id);
    task.path = "kubepods/besteffort/hadoop-yarn/c1";
    return task;
  }
  static Answer refusal(int code, const std::string& message, const std::string& reason, std::string_view cause = "") {
    Json status = Json::object({{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}});
    if (!cause.empty()) status["details"]["causes"] = Json::array({Json::object({{"reason", cause}})});
    return {.status = code, .body = status.dump()};
  }
  // As an API server passes on what a webhook said (manager/webhook).
  static Answer denial(const policy::admission::EvictionRefusal& refused) {
    return refusal(refused.http_code,
                   base::cat("admission webhook \"validate-eviction.tidemark.io\" denied the request: ",
                             policy::explain::render_text(refused)),
                   "Forbidden", to_string(refused.why));
  }
  EvictOutcome ask(const model::Task& task) {
    return run(ending->ask(task, model::Reason::kEvictMemoryLine, kGrace, false));
  }
  std::vector<std::string> targets() const {
    std::vector<std::string> out;
    out.reserve(transport.sent.size());
    for (const auto& each : transport.sent) out.push_back(each.request.target);
    return out;
  }
  EvictOutcome ask(Answer answer) {
    transport.answers = {std::move(answer)};
    return ask(pod());
  }
  // On another thread: waits for it, with a clock that stands still.
  template <class T>
  T run_on_worker(net::Task<T> task) {
    return net::testing::run_task(loop, std::move(task));
  }

  static constexpr base::Duration kGrace = 30s;
  base::Log log{clock, {.level = base::LogLevel::kError, .write = [](std::string_view) {}}};
  base::Registry metrics;
  kube::Interner interner{metrics, "test"};
  testing::Killer killer;
  copilot::Client copilot_client{transport};
  copilot::Client* told_by = nullptr;
  YarnReclaim yarn_reclaim{loop, *client, log, "n1"};
  std::vector<model::AuditLine> audit;
  std::unique_ptr<Ending> ending;
};

// Contract 7.4: a POST of a policy/v1 Eviction with a UID precondition, without a grace period.
TEST_F(EndingTest, EvictsPodThroughApiServer) {
  EXPECT_EQ(ask(Answer{.status = 201}), EvictOutcome::kAccepted);
  EXPECT_EQ(request().target, "/api/v1/namespaces/jobs/pods/crunch-0/eviction?fieldManager=tidemark");
  EXPECT_EQ(request().body,
            R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"crunch-0","namespace":"jobs"},)"
            R"("deleteOptions":{"preconditions":{"uid":"u1"}}})");
  EXPECT_TRUE(audit.empty()) << "the client tells of writes to the API server";
}

TEST_F(EndingTest, MapsApiServerAnswers) {
  const auto plain = [&](int code, const char* reason) { return ask(refusal(code, "something", reason)); };
  EXPECT_EQ(ask(refusal(429, "Cannot evict pod", "TooManyRequests", "DisruptionBudget")), EvictOutcome::kForbidden);
  EXPECT_EQ(plain(429, "TooManyRequests"), EvictOutcome::kBusy) << "it has too much to do";
  EXPECT_EQ(plain(404, "NotFound"), EvictOutcome::kGone);
  EXPECT_EQ(plain(409, "Conflict"), EvictOutcome::kNever);
  EXPECT_EQ(plain(401, "Unauthorized"), EvictOutcome::kUnreachable);
  EXPECT_EQ(plain(403, "Forbidden"), EvictOutcome::kUnreachable) << "no right to ask";
  EXPECT_EQ(plain(422, "Invalid"), EvictOutcome::kUnreachable);
  EXPECT_EQ(plain(500, "InternalError"), EvictOutcome::kUnreachable) << "a webhook that is not there";
  EXPECT_EQ(plain(503, "ServiceUnavailable"), EvictOutcome::kUnreachable);
  EXPECT_EQ(ask(Answer{.status = 404, .body = "<html>"}), EvictOutcome::kUnreachable) << "of a proxy";
}

// A kube-apiserver answers 500 without a reason both for a pod with two budgets and for an error of its etcd.
TEST_F(EndingTest, RefusalWithoutReasonIsABudgetOnlyWhileEtcdWorks) {
  const Answer no_reason = refusal(500, "a text that decides nothing", "");
  const auto after = [&](Answer dry_run, Answer node) {
    transport.sent.clear();
    transport.answers = {no_reason, std::move(dry_run), std::move(node)};
    return ask(pod());
  };
  EXPECT_EQ(after(no_reason, {.body = "{}"}), EvictOutcome::kForbidden);
  EXPECT_EQ(targets(),
            (std::vector<std::string>{"/api/v1/namespaces/jobs/pods/crunch-0/eviction?fieldManager=tidemark",
                                      "/api/v1/namespaces/jobs/pods/crunch-0/eviction?fieldManager=tidemark&dryRun=All",
                                      "/api/v1/nodes/n1"}));
  EXPECT_EQ(after(no_reason, no_reason), EvictOutcome::kUnreachable) << "etcd cannot be read";
  EXPECT_EQ(after({.status = 201}, {.body = "{}"}), EvictOutcome::kUnreachable) << "etcd refuses writes";
  EXPECT_EQ(transport.sent.size(), 2U);
  EXPECT_EQ(after(Answer{.delay = 1h}, {.body = "{}"}), EvictOutcome::kUnreachable) << "the server no longer answers";
}

TEST_F(EndingTest, MapsWebhookAnswers) {
  const auto said = [&](EvictionDenial why, int code) { return ask(denial({why, code, "found", "wanted"})); };
  EXPECT_EQ(said(EvictionDenial::kOnline, 403), EvictOutcome::kNever);
  EXPECT_EQ(said(EvictionDenial::kMirror, 403), EvictOutcome::kNever);
  EXPECT_EQ(said(EvictionDenial::kAnotherNode, 403), EvictOutcome::kNever);
  EXPECT_EQ(said(EvictionDenial::kAnotherPod, 409), EvictOutcome::kNever);
  EXPECT_EQ(said(EvictionDenial::kAnotherPod, 403), EvictOutcome::kNever);
  EXPECT_EQ(said(EvictionDenial::kJobBudget, 429), EvictOutcome::kForbidden);
  EXPECT_EQ(said(EvictionDenial::kPoolBudget, 429), EvictOutcome::kForbidden);
  EXPECT_EQ(said(EvictionDenial::kTooMany, 503), EvictOutcome::kBusy);
  EXPECT_EQ(said(EvictionDenial::kNotKnown, 503), EvictOutcome::kBusy);
  EXPECT_EQ(said(EvictionDenial::kNoUid, 400), EvictOutcome::kUnreachable);
  EXPECT_EQ(said(EvictionDenial::kNoNode, 403), EvictOutcome::kUnreachable);
  EXPECT_EQ(said(EvictionDenial::kUnreadable, 403), EvictOutcome::kUnreachable);
}

// A kube-apiserver answers so if it cannot call the webhook.
TEST_F(EndingTest, FailedWebhookIsUnreachable) {
  EXPECT_EQ(
      ask(refusal(500,
                  "Internal error occurred: failed calling webhook \"agent-eviction.tidemark.io\": failed to call "
                  "webhook: Post \"https://x:443/validate-eviction\": connect: connection refused",
                  "InternalError")),
      EvictOutcome::kUnreachable);
}

TEST_F(EndingTest, MessagesAreNotWebhookAnswers) {
  EXPECT_EQ(ask(refusal(403, "pods \"a [Online]\" is forbidden: User \"x\" cannot create [Online]", "Forbidden")),
            EvictOutcome::kUnreachable);
  EXPECT_EQ(ask(refusal(500, "etcdserver: request timed out, more than one PodDisruptionBudget", "")),
            EvictOutcome::kUnreachable);
}

TEST_F(EndingTest, ReportsUnreachableWithoutAnswer) {
  EXPECT_EQ(ask(Answer{.error = Error{ErrorKind::kUnavailable, "connection refused"}}), EvictOutcome::kUnreachable);
  const auto before = clock.monotonic();
  EXPECT_EQ(ask(Answer{.delay = 1h}), EvictOutcome::kUnreachable);
  EXPECT_EQ(clock.monotonic() - before, kEvictionLimit);
}

TEST_F(EndingTest, TaskMayEndDuringRequest) {
  transport.answers = {{.status = 201, .delay = 3s}};
  auto task = std::make_unique<model::Task>(pod());
  auto asking = ending->ask(*task, model::Reason::kEvictMemoryLine, kGrace, false);
  task.reset();
  EXPECT_EQ(run(std::move(asking)), EvictOutcome::kAccepted);
  EXPECT_EQ(request().target, "/api/v1/namespaces/jobs/pods/crunch-0/eviction?fieldManager=tidemark");
}

TEST_F(EndingTest, StaticPodIsNeitherAskedNorKilled) {
  model::Task fixed = pod();
  fixed.fixed = true;
  model::Task nameless = pod();
  nameless.identity.task.clear();  // would evict whichever has the name
  killer.processes[fixed.path] = 3;
  for (const model::Task& task : {fixed, nameless}) {
    EXPECT_EQ(ask(task), EvictOutcome::kNever);
    const auto killed = run(ending->kill(task, model::Reason::kEvictKilled));
    ASSERT_FALSE(killed);
    EXPECT_EQ(killed.error().kind, ErrorKind::kDenied);
  }
  EXPECT_TRUE(transport.sent.empty());
  EXPECT_EQ(killer.processes[fixed.path], 3u);
}

TEST_F(EndingTest, CopilotTaskGetsStopAndGrace) {
  const model::Task task = of(model::TaskKind::kCopilotTask, "container_1_0001_01_000002");
  transport.answers = {{.status = 202, .body = R"({"containerID":"x","killedAt":"2026-11-22T20:00:35Z"})"}};
  EXPECT_EQ(ask(task), EvictOutcome::kUnreachable) << "no copilot tells of it";
  EXPECT_TRUE(transport.sent.empty());
  told_by = &copilot_client;
  EXPECT_EQ(ask(task), EvictOutcome::kAccepted);
  EXPECT_EQ(targets(), std::vector<std::string>{"/tidemark/v1/stop"});
  EXPECT_EQ(request().body, R"({"containerID":"container_1_0001_01_000002","graceSeconds":35,"reason":"TM-EVICT-001"})")
      << "the agent's own kill comes first";
  transport.answers = {{.status = 503, .body = R"({"error":"its NodeManager hangs"})"}};
  EXPECT_EQ(ask(task), EvictOutcome::kUnreachable);
  const auto before = clock.monotonic();
  transport.answers = {{.delay = 1h}};
  EXPECT_EQ(ask(task), EvictOutcome::kUnreachable);
  EXPECT_EQ(clock.monotonic() - before, kCopilotLimit);
  EXPECT_EQ(targets(), std::vector<std::string>(3, "/tidemark/v1/stop")) << "one that knows stops is not told to kill";

  ASSERT_EQ(audit.size(), 3u);
  EXPECT_EQ(audit[0].verb, "stop");
  EXPECT_EQ(audit[0].kind, "CopilotTask");
  EXPECT_EQ(audit[0].name, "container_1_0001_01_000002");
  EXPECT_EQ(audit[0].actor, "agent n1");
  EXPECT_EQ(audit[0].new_value, R"({"graceSeconds":35})");
  EXPECT_EQ(audit[0].reason, model::reason_id(model::Reason::kEvictMemoryLine));
  EXPECT_EQ(audit[0].outcome, model::AuditOutcome::kDone);
  EXPECT_EQ(audit[2].outcome, model::AuditOutcome::kUnknown) << "it may have happened";
}

// Copilot contract 10: 404 with text for an unknown path, 400 for every other failure.
TEST_F(EndingTest, CopilotWithoutStopGetsKill) {
  const model::Task task = of(model::TaskKind::kCopilotTask, "container_1_0001_01_000002");
  told_by = &copilot_client;
  const Answer unknown{.status = 404, .body = "404 page not found"};
  transport.answers = {unknown, {.body = R"({"items":[{"name":"container_1_0001_01_000002"}]})"}};
  EXPECT_EQ(ask(task), EvictOutcome::kAccepted);
  EXPECT_EQ(targets(), (std::vector<std::string>{"/tidemark/v1/stop", "/v1/killContainer"}));
  EXPECT_EQ(transport.sent.back().request.body, R"({"containerID":"container_1_0001_01_000002"})");
  transport.answers = {unknown, {.status = 400}};
  EXPECT_EQ(ask(task), EvictOutcome::kUnreachable);
  ASSERT_EQ(audit.size(), 2u);
  EXPECT_EQ(audit[0].verb, "kill");
  EXPECT_EQ(audit[0].outcome, model::AuditOutcome::kDone);
}

// The ResourceManager pre-empts a container, and the copilot kills what is left of it. Without an answer of the
// operator the agent asks the copilot to stop it.
TEST_F(EndingTest, PreemptsYarnContainersIfOperatorAnswers) {
  const std::string name = "container_1_0001_01_000002";
  const model::Task task = of(model::TaskKind::kCopilotTask, name);
  told_by = &copilot_client;
  const auto operator_says = [&](const model::ReclaimAnswer& said) {
    const Json texts = Json::object({{model::kYarnReclaimAnswerAnnotation, Json(model::format_reclaim_answer(said))}});
    const std::string node =
        Json::object({{"metadata", Json::object({{"name", "n1"}, {"annotations", texts}})}}).dump();
    kube::NodeFields fields;
    fields.meta.annotations = {model::kYarnReclaimAnswerAnnotation};
    yarn_reclaim.use_node(*kube::decode_node(node, fields, interner));
  };
  bool itself = false;
  const auto ask_and = [&](const std::function<model::ReclaimAnswer(std::int64_t generation)>& said) {
    std::optional<EvictOutcome> outcome;
    net::Scope scope(loop);
    scope.spawn([](Ending& from, const model::Task& of, bool only, std::optional<EvictOutcome>& to) -> net::Task<void> {
      to = co_await from.ask(of, model::Reason::kEvictMemoryLine, kGrace, only);
    }(*ending, task, itself, outcome));
    net::testing::run_for(loop, clock, 10ms);
    const auto body = Json::parse(transport.sent.back().request.body);
    const Json* text = body->at("metadata", "annotations", model::kYarnReclaimAnnotation);
    if (text != nullptr) operator_says(said(model::parse_reclaim_request(text->as_string())->generation));
    net::testing::run_for(loop, clock, kReclaimLimit);
    return outcome;
  };
  const auto kills = [&] { return std::ranges::count(targets(), "/v1/killContainer"); };
  const auto stops = [&] { return std::ranges::count(targets(), "/tidemark/v1/stop"); };
  transport.answers = {{.body = R"({"items":[{"name":"container_1_0001_01_000002"}]})"}};  // the copilot's
  operator_says({});
  EXPECT_EQ(ask_and([&](std::int64_t g) { return model::ReclaimAnswer{g, {name}, {}, "", {}, {}}; }),
            EvictOutcome::kPreempted);
  EXPECT_EQ(kills(), 1);
  EXPECT_EQ(ask_and([&](std::int64_t g) { return model::ReclaimAnswer{g, {}, {name}, "", {}, {}}; }),
            EvictOutcome::kReplaced);
  EXPECT_EQ(kills(), 1) << "another one went: it stays";
  EXPECT_EQ(ask_and([&](std::int64_t g) { return model::ReclaimAnswer{g, {}, {}, "away", {}, {}}; }),
            EvictOutcome::kAccepted);
  EXPECT_EQ(stops(), 1);
  EXPECT_EQ(ask_and([&](std::int64_t) { return model::ReclaimAnswer{}; }), EvictOutcome::kAccepted) << "no answer came";
  EXPECT_EQ(stops(), 2);
  EXPECT_EQ(kills(), 1);
  itself = true;
  EXPECT_EQ(ask_and([&](std::int64_t g) { return model::ReclaimAnswer{g, {}, {name}, "", {}, {}}; }),
            EvictOutcome::kAccepted)
      << "the end of another one would free nothing: its copilot tells it";
  EXPECT_EQ(stops(), 3);
  itself = false;
  told_by = nullptr;
  operator_says({1, {}, {}, "", {}, {}});
  EXPECT_EQ(ask_and([&](std::int64_t g) { return model::ReclaimAnswer{g, {name}, {}, "", {}, {}}; }),
            EvictOutcome::kPreempted)
      << "its NodeManager ends it";
  transport.sent.clear();
  const model::Task cage = of(model::TaskKind::kCopilotTask, "cage-1");
  EXPECT_EQ(ask(cage), EvictOutcome::kUnreachable) << "no container of YARN's";
  EXPECT_TRUE(transport.sent.empty());
}

TEST_F(EndingTest, HostApplicationIsNeverEvicted) {
  const model::Task task = of(model::TaskKind::kHostApplication, "trainer");
  killer.processes[task.path] = 2;
  EXPECT_EQ(run_on_worker(ending->ask(task, model::Reason::kEvictCpuLine, kGrace, false)), EvictOutcome::kNever);
  EXPECT_EQ(run_on_worker(ending->kill(task, model::Reason::kEvictKilled)).error().kind, ErrorKind::kDenied);
  EXPECT_EQ(killer.processes[task.path], 2u);
}

TEST_F(EndingTest, TheWholeGroupIsKilledOnAnotherThread) {
  const model::Task task = pod();
  killer.processes[task.path] = 5;
  killer.stuck[task.path] = 1;
  const auto killed = run_on_worker(ending->kill(task, model::Reason::kEvictKilled));
  ASSERT_TRUE(killed) << killed.error().message;
  EXPECT_EQ(*killed, (KillReport{4, 1}));
  EXPECT_NE(killer.thread, std::this_thread::get_id());
  ASSERT_EQ(audit.size(), 1u);
  EXPECT_EQ(audit[0].verb, "kill");
  EXPECT_EQ(audit[0].kind, "Cgroup");
  EXPECT_EQ(audit[0].ns, "jobs");
  EXPECT_EQ(audit[0].name, task.path);
  EXPECT_EQ(audit[0].new_value, R"({"killed":4,"left":1})");
  EXPECT_EQ(audit[0].reason, model::reason_id(model::Reason::kEvictKilled));
}

// Tasks whose disk hangs do not die, and are killed again each two seconds, one after the other on one thread: who can
// be killed is not to wait for all of them.
TEST_F(EndingTest, UnkillableGroupDoesNotDelayEachKill) {
  const model::Task task = pod();
  const auto kill = [&] { return run_on_worker(ending->kill(task, model::Reason::kEvictKilled)).value(); };
  killer.processes[task.path] = 1;
  killer.stuck[task.path] = 1;
  EXPECT_EQ(kill(), (KillReport{0, 1}));
  EXPECT_TRUE(killer.again.empty());
  EXPECT_EQ(kill(), (KillReport{0, 1}));
  killer.stuck.clear();
  EXPECT_EQ(kill(), (KillReport{1, 0}));
  EXPECT_EQ(killer.again, (std::vector<std::string>{task.path, task.path}));
  killer.processes[task.path] = 1;
  EXPECT_EQ(kill(), (KillReport{1, 0}));
  EXPECT_EQ(killer.again.size(), 2u) << "another one of that name";
}

TEST_F(EndingTest, ReportsFailedKill) {
  killer.broken = Error{ErrorKind::kDenied, "not the host's pid namespace"};
  const auto killed = run_on_worker(ending->kill(pod(), model::Reason::kEvictKilled));
  ASSERT_FALSE(killed);
  ASSERT_EQ(audit.size(), 1u);
  EXPECT_EQ(audit[0].outcome, model::AuditOutcome::kRefused);
  EXPECT_EQ(audit[0].detail, "not the host's pid namespace");
}

TEST_F(EndingTest, KillsOnlyPathsBelowRoot) {
  for (const char* path : {"", "/", "..", "kubepods/../x", "/kubepods/besteffort/podu1", "kubepods//x"}) {
    model::Task task = pod();
    task.path = path;
    const auto killed = run_on_worker(ending->kill(task, model::Reason::kEvictKilled));
    ASSERT_FALSE(killed) << path;
    EXPECT_EQ(killed.error().kind, ErrorKind::kInvalid) << path;
  }
  EXPECT_EQ(killer.thread, std::thread::id()) << "it was never called";
}

}  // namespace
}  // namespace tidemark::agent
