// The answers about work: offline tasks, evictions, online services, gain, and the past without files.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "console/decisions.h"
#include "console/record_api.h"
#include "console/testing/console_in_memory.h"
#include "console/testing/console_over_http.h"
#include "net/testing/loop.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;
using base::cat;
using testing::kJobs;
using testing::kMerge;
class ConsoleWork : public testing::ConsoleTest {
 protected:
  std::string asked;
};

TEST_F(ConsoleWork, CountsOfflineTasksByClass) {
  node("n1");
  task("t1", "n1");
  task("t2", "", "Pending");
  Json online = name_only("web");
  online["spec"] = Json::object({{"containers", Json::array({Json::object({{"name", "c"}, {"image", "i"}})})}});
  must("POST", kJobs, online);
  ASSERT_TRUE(start());
  const Json offline = read_until("/api/v1/offline", [](const Json& each) {
    return number(each, "total") >= 2 && number(each.member("classes")->as_array().at(0), "availableCpu") >= 0;
  });
  const Json& spark = offline.member("classes")->as_array().at(0);
  EXPECT_EQ(spark.text_at("name"), "spark");
  EXPECT_EQ(number(spark, "running"), 1);
  EXPECT_EQ(number(spark, "waiting"), 1);
  EXPECT_EQ(number(spark, "availableCpu"), 3'000) << "8 cores are offered, t1 requests 5";
  EXPECT_EQ(number(spark, "nodesOff"), 0);
  EXPECT_EQ(number(read("/api/v1/offline?phase=waiting"), "total"), 1);
  EXPECT_EQ(get("/api/v1/offline?phase=later").status, 400);
}

TEST_F(ConsoleWork, CountsEvictionsAlsoOfPodsThatAreGone) {
  node("n1");
  task("t1", "n1");
  ASSERT_TRUE(start());
  read_until("/api/v1/offline", [](const Json& each) { return number(each, "total") == 1; });
  const Json target = Json::object({{"type", "DisruptionTarget"},
                                    {"status", "True"},
                                    {"reason", "EvictionByEvictionAPI"},
                                    {"lastTransitionTime", "2026-11-20T13:00:00Z"}});
  const Json status = Json::object({{"startTime", "2026-11-20T12:00:00Z"}, {"conditions", Json::array({target})}});
  must("PATCH", cat(kJobs, "/t1/status"), Json::object({{"status", status}}), kMerge);
  const auto evicted = [](const Json& each) {
    return number(each.member("classes")->as_array().at(0), "evicted") == 1;
  };
  read_until("/api/v1/offline", evicted);
  EXPECT_EQ(call("DELETE", cat(kJobs, "/t1?gracePeriodSeconds=0"), Json()).status, 200);
  const Json gone = read_until("/api/v1/offline", [](const Json& each) { return number(each, "total") == 0; });
  const Json& spark = gone.member("classes")->as_array().at(0);
  EXPECT_EQ(number(spark, "evicted"), 1);
  EXPECT_EQ(number(spark, "lostCoreSeconds"), 5 * 3600) << "five cores for an hour";
  const Json& job = gone.member("mostEvicted")->as_array().at(0);
  EXPECT_EQ(job.text_at("namespace"), "jobs");
  EXPECT_EQ(number(job, "last"), 1'795'179'600);
}

TEST_F(ConsoleWork, CountsEvictionsOfYarnContainersOnceEach) {
  node("n1");
  const auto say = [&](std::string_view key, std::string_view ends) {
    const Json text = cat(R"({"schema":1,"ends":[)", ends, "]}");
    const Json notes = Json::object({{std::string(key), text}});
    must("PATCH", "/api/v1/nodes/n1", Json::object({{"metadata", Json::object({{"annotations", notes}})}}), kMerge);
  };
  constexpr std::string_view kFirst =
      R"({"at":"2026-03-01T02:00:00.000000Z","class":"spark","job":"yarn/application_1_1","evicted":2})";
  say("tidemark.io/ended-tasks", kFirst);
  ASSERT_TRUE(start());
  const auto evicted = [](std::int64_t wanted) {
    return [wanted](const Json& each) {
      const auto& classes = each.member("classes")->as_array();
      return !classes.empty() && number(classes[0], "evicted") == wanted;
    };
  };
  read_until("/api/v1/offline", evicted(2));
  say("tidemark.io/ended-tasks",
      cat(kFirst, R"(,{"at":"2026-03-01T02:01:00.000000Z","class":"spark","finished":7})",
          R"(,{"at":"2026-03-01T02:03:00.000000Z","class":"spark","job":"yarn/application_1_1","evicted":1})"));
  say("tidemark.io/yarn-preempted", R"({"at":"2026-03-01T02:02:00.000000Z","class":"spark","evicted":4})");
  const Json found = read_until("/api/v1/offline", evicted(7));
  const Json& spark = found.member("classes")->as_array().at(0);
  EXPECT_EQ(number(spark, "lostCoreSeconds"), 0);
  EXPECT_EQ(number(spark, "lostUnknown"), 7);
  const Json& job = found.member("mostEvicted")->as_array().at(1);
  EXPECT_EQ(job.text_at("job"), "yarn/application_1_1");
  EXPECT_EQ(number(job, "evicted"), 3);
}

TEST_F(ConsoleWork, NamesAbnormalTasks) {
  node("n1");
  task("good", "n1");
  task("bad", "n1", "Failed");
  task("loops", "n1");
  const Json waiting =
      Json::object({{"waiting", Json::object({{"reason", "CrashLoopBackOff"}, {"message", "back-off"}})}});
  const Json container = Json::object({{"name", "c"}, {"state", waiting}});
  must("PATCH", cat(kJobs, "/loops/status"),
       Json::object({{"status", Json::object({{"containerStatuses", Json::array({container})}})}}), kMerge);
  ASSERT_TRUE(start());
  const Json found =
      read_until("/api/v1/offline?phase=abnormal", [](const Json& each) { return number(each, "total") == 2; });
  std::map<std::string, std::string> words;
  for (const Json& each : found.member("tasks")->as_array()) {
    words[std::string(each.text_at("name"))] = each.text_at("abnormal");
    if (each.text_at("name") == "loops") EXPECT_EQ(each.text_at("why"), "CrashLoopBackOff: back-off");
  }
  EXPECT_EQ(words, (std::map<std::string, std::string>{{"bad", "failed"}, {"loops", "restarts"}}));
  EXPECT_EQ(number(found.member("classes")->as_array().at(0), "abnormal"), 2);
}

TEST_F(ConsoleWork, ShowsOnlineWorkloadsWithTheirPods) {
  node("n1");
  Json pod = name_only("web-0");
  pod["metadata"]["labels"] = Json::object({{"tidemark.io/business", "shop"}});
  pod["metadata"]["ownerReferences"] = Json::array({Json::object({{"apiVersion", "apps/v1"},
                                                                  {"kind", "StatefulSet"},
                                                                  {"name", "web"},
                                                                  {"uid", "00000000-0000-0000-0000-000000000001"},
                                                                  {"controller", true}})});
  Json container = Json::object({{"name", "c"}, {"image", "i"}});
  container["resources"] = Json::object({{"requests", Json::object({{"cpu", "2"}, {"memory", "4Gi"}})}});
  pod["spec"] = Json::object({{"nodeName", "n1"}, {"containers", Json::array({std::move(container)})}});
  must("POST", kJobs, pod);
  must("PATCH", cat(kJobs, "/web-0/status"), Json::object({{"status", Json::object({{"phase", "Running"}})}}), kMerge);
  task("t1", "n1");
  report("n1", "web-0");  // a report has the pod, whatever its class
  ASSERT_TRUE(start());
  const Json all = read("/api/v1/online");
  ASSERT_EQ(all.member("workloads")->as_array().size(), 1U) << "t1 is offline work: " << all.dump();
  const Json& web = all.member("workloads")->as_array()[0];
  EXPECT_EQ(web.text_at("name"), "jobs/StatefulSet/web");
  EXPECT_EQ(web.text_at("business"), "shop");
  EXPECT_EQ(number(web, "cpuUsed"), 4'000);
  EXPECT_EQ(number(web, "cpuRequest"), 2'000);
  EXPECT_EQ(number(web, "hoursSeen"), 0);
  EXPECT_TRUE(web.member("cpuP95")->as_array().at(0).is_null()) << "no profile is stored";
  const Json one = read("/api/v1/online?workload=jobs/StatefulSet/web");
  EXPECT_EQ(one.member("workloads")->as_array().at(0).member("members")->as_array().at(0).text_at("node"), "n1");
  EXPECT_EQ(get("/api/v1/online?workload=web").status, 400);
}

// Under simulated time, with an API server that takes a second for each answer.
class ConsoleOnline : public testing::ConsoleInMemory {
 protected:
  void SetUp() override {
    call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"shop"}})");
    for (const auto* name : {"web-1", "web-0"}) {
      call(
          "POST", "/api/v1/namespaces/shop/pods",
          cat(R"({"metadata":{"name":")", name, R"(","ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet",)",
              R"("name":"web","uid":"00000000-0000-0000-0000-000000000001","controller":true}]},)",
              R"("spec":{"nodeName":"n1","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}})"));
    }
    serve();
    between.delay = 1s;
    between.answers = [this](const net::HttpRequest& request) -> std::optional<net::HttpResponse> {
      if (request.target.starts_with("/api/v1/pods?")) ++lists;
      return std::nullopt;
    };
  }
  // The answers to questions that are under way together.
  std::vector<net::HttpResponse> at_once(const std::vector<std::string>& paths) {
    std::vector<net::HttpResponse> out(paths.size());
    std::size_t over = 0;
    const auto ask_one = [&](std::size_t i) -> net::Task<void> {
      net::HttpRequest request;
      request.target = paths[i];
      request.headers.set("host", "127.0.0.1:8090");
      auto answer = co_await served->transport.fetch(std::move(request), 60s);
      EXPECT_TRUE(answer);
      if (answer) out[i] = std::move(*answer);
      ++over;
    };
    net::Scope scope(loop);
    for (std::size_t i = 0; i < paths.size(); ++i) scope.spawn(ask_one(i));
    EXPECT_TRUE(net::testing::run_until(loop, clock, [&] { return over == paths.size(); }, 60s));
    return out;
  }

  int lists = 0;  // of all pods
};

TEST_F(ConsoleOnline, ListsPodsOnceForAllQuestions) {
  const std::string all = "/api/v1/online", web = "/api/v1/online?workload=shop/StatefulSet/web";
  const auto answers = at_once({all, web, all, web, all, "/api/v1/online?workload=shop/StatefulSet/gone"});
  EXPECT_EQ(lists, 1);
  const auto workloads = [&](std::size_t of) { return body_of(answers[of]).member("workloads")->as_array(); };
  ASSERT_EQ(workloads(0).size(), 1U) << answers[0].body;
  EXPECT_EQ(number(workloads(0)[0], "pods"), 2);
  EXPECT_TRUE(workloads(0)[0].member("members")->as_array().empty());
  const auto one = workloads(1);
  ASSERT_EQ(one.size(), 1U) << answers[1].body;
  const auto& members = one[0].member("members")->as_array();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].text_at("namespace"), "shop");
  EXPECT_EQ(members[0].text_at("name"), "web-0");
  EXPECT_EQ(members[1].text_at("name"), "web-1");
  EXPECT_TRUE(workloads(5).empty());
  net::testing::run_for(loop, clock, RecordApi::kOnlineLife - 20s);
  at_once({all, web});
  EXPECT_EQ(lists, 1);
  net::testing::run_for(loop, clock, RecordApi::kOnlineLife);
  at_once({all, web});
  EXPECT_EQ(lists, 2);
}

TEST_F(ConsoleOnline, AFailedListIsAnErrorOfItsQuestionsOnly) {
  between.refuses = [](const net::HttpRequest& request) -> std::optional<Error> {
    if (!request.target.starts_with("/api/v1/pods?")) return std::nullopt;
    return Error{ErrorKind::kDenied, "pods is forbidden", 403, 0};
  };
  for (const auto& each : at_once({"/api/v1/online", "/api/v1/online"})) EXPECT_EQ(each.status, 403) << each.body;
  between.refuses = nullptr;
  EXPECT_EQ(get("/api/v1/online").status, 200);
}

TEST_F(ConsoleOnline, OtherQuestionsWaitForAPlaceAndAreRefusedOnlyBeyondTheLimit) {
  std::vector<std::string> paths = {"/api/v1/online", "/api/v1/online?workload=shop/StatefulSet/web"};
  for (std::size_t i = 0; i < RecordApi::kAnswersUnderWay; ++i) paths.push_back(cat("/api/v1/decisions?node=n", i));
  paths.push_back(paths.back());
  paths.emplace_back("/api/v1/decisions?node=another");
  const auto answers = at_once(paths);
  for (std::size_t i = 0; i + 1 < paths.size(); ++i) EXPECT_EQ(answers[i].status, 200) << paths[i] << answers[i].body;
  EXPECT_EQ(answers.back().status, 503) << answers.back().body;
}

TEST_F(ConsoleWork, PastWithoutFilesIsUnknownAndNoError) {
  ASSERT_TRUE(start());
  for (const std::string_view what : {"offer?node=n1", "record?node=n1", "incident?namespace=shop&name=web-0"}) {
    EXPECT_TRUE(read(cat("/api/v1/past/", what)).text_at("unknown").contains("this console was given no")) << what;
  }
  EXPECT_EQ(get("/api/v1/past/record?node=n1&from=5&to=4").status, 400);
  EXPECT_EQ(get("/api/v1/past/record?node=n1&to=never").status, 400);
}

TEST_F(ConsoleWork, PastComesFromPodsAndTheirErrorsAreShown) {
  past_of_pods.offer = [](std::string name, base::WallTime at) -> net::Task<Result<Json>> {
    co_return Json::object({{"offerOf", Json(name)}, {"at", base::format_rfc3339(at)}});
  };
  past_of_pods.record = [](std::string name, base::WallTime, base::WallTime) -> net::Task<Result<Json>> {
    co_return fail(ErrorKind::kUnavailable, "the agent of node ", name, " does not answer: 503");
  };
  past_of_pods.incident = [](std::string on, std::string ns, std::string name, base::WallTime,
                             base::WallTime) -> net::Task<Result<Json>> {
    co_return Json::object({{"task", Json(cat(on, "/", ns, "/", name))}});
  };
  past_of_pods.decisions = [this](operate::DecisionQuery query) -> net::Task<operate::DecisionsFound> {
    asked = query_text(query);
    const std::string document =
        R"({"schema":1,"journals":1,"audits":1,"notes":["m-1: hurt"],"more":false,"decisions":[)"
        R"({"at":1700000000,"source":"journal","by":"m-1","object":"Node/n1","node":"n1","pool":"web","action":"written",)"
        R"("reason":"TM-OFFER-001","text":"t","batchCpu":5000,"batchMemory":null,"before":null,"after":null,)"
        R"("outcome":"done","detail":"d"}]})";
    auto found = read_decisions(*Json::parse(document));
    EXPECT_TRUE(found);
    co_return *std::move(found);
  };
  ASSERT_TRUE(start());
  const Json offer = read("/api/v1/past/offer?node=n1&at=1700000000");
  EXPECT_EQ(offer.text_at("offerOf"), "n1");
  EXPECT_EQ(offer.text_at("at"), "2023-11-14T22:13:20Z");
  EXPECT_EQ(read("/api/v1/past/record?node=n1").text_at("unknown"), "the agent of node n1 does not answer: 503");
  EXPECT_EQ(read("/api/v1/past/incident?namespace=shop&name=web-0&node=n1").text_at("task"), "n1/shop/web-0");
  EXPECT_TRUE(read("/api/v1/past/incident?namespace=shop&name=web-0").text_at("unknown").contains("--agent-dir"));

  const Json decisions = read("/api/v1/decisions?node=n1&since=1600000000");
  EXPECT_EQ(asked, "limit=200&node=n1&since=1600000000");
  EXPECT_EQ(number(decisions, "journals"), 1);
  EXPECT_EQ(number(decisions, "audits"), 1);
  EXPECT_EQ(decisions.member("notes")->as_array().at(0).get_string(), "m-1: hurt");
  ASSERT_EQ(decisions.member("decisions")->as_array().size(), 1U);
  const Json& one = decisions.member("decisions")->as_array().at(0);
  EXPECT_EQ(number(one, "at"), 1'700'000'000);
  EXPECT_EQ(one.text_at("pool"), "web");
  EXPECT_EQ(number(one, "batchCpu"), 5'000);
  EXPECT_TRUE(one.member("batchMemory")->is_null());
  EXPECT_EQ(read("/api/v1/decisions?pool=night").member("decisions")->as_array().size(), 0U);
}

TEST_F(ConsoleWork, SumsTheUseOfOfflineWorkAsGain) {
  node("n1");
  task("t1", "n1");
  report("n1", "t1");
  ASSERT_TRUE(start());
  const Json summary =
      read_until("/api/v1/summary", [](const Json& each) { return number(each, "gain", "coreSeconds") >= 4; });
  EXPECT_LE(number(summary, "gain", "coreSeconds"), 4 * 15) << "four cores for some seconds";
  EXPECT_TRUE(summary.at("gain", "price")->is_null());
}

}  // namespace
}  // namespace tidemark::console
