// The console as a whole: on the API server in memory, over real sockets.
#include "console/console.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "base/text.h"
#include "base/yaml.h"
#include "console/documents.h"
#include "console/page.h"
#include "console/testing/console_over_http.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "model/annotations.h"
#include "net/connection.h"
#include "net/http_client.h"
#include "net/testing/endpoint.h"
#include "net/testing/loop.h"
#include "operate/off_progress.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;
using base::cat;
using testing::kJobs;
using testing::kMaps;
using testing::kMerge;
using ConsoleTest = testing::ConsoleTest;

TEST_F(ConsoleTest, ShowsNodesAsColumns) {
  node("n1");
  report("n1", "t1");
  task("t1", "n1");
  ASSERT_TRUE(start());
  const Json nodes = read_until("/api/v1/nodes", [](const Json& each) {
    return number(each, "total") == 1 && column(each, "cpuSold", 0).is_int() && column(each, "cpuLine", 0).is_int() &&
           column(each, "cpuOnline", 0).is_int();
  });
  EXPECT_EQ(column(nodes, "name", 0), Json("n1"));
  EXPECT_EQ(column(nodes, "pool", 0), Json("default"));
  EXPECT_EQ(column(nodes, "state", 0), Json("on"));
  EXPECT_EQ(column(nodes, "report", 0), Json("fresh"));
  EXPECT_EQ(column(nodes, "cpuCapacity", 0), Json(32'000));
  EXPECT_EQ(column(nodes, "cpuOnline", 0), Json(6'000));
  EXPECT_EQ(column(nodes, "cpuOffline", 0), Json(4'000));
  EXPECT_EQ(column(nodes, "cpuOffered", 0), Json(8'000));
  EXPECT_EQ(column(nodes, "cpuSold", 0), Json(5'000));
  EXPECT_EQ(column(nodes, "cpuLine", 0), Json(60));
  EXPECT_EQ(column(nodes, "tasks", 0), Json(1));
}

TEST_F(ConsoleTest, ShowsANodeWithoutReportAsUnknown) {
  node("n1");
  ASSERT_TRUE(start());
  const Json nodes = read_until("/api/v1/nodes", [](const Json& each) {
    return number(each, "total") == 1 && column(each, "report", 0) == Json("missing");
  });
  EXPECT_TRUE(column(nodes, "cpuOnline", 0).is_null());
  EXPECT_TRUE(column(nodes, "cpuOffline", 0).is_null());
  EXPECT_TRUE(column(nodes, "reported", 0).is_null());
  const Json summary = read("/api/v1/summary");
  EXPECT_EQ(number(summary, "sums", "unknown"), 1);
  EXPECT_TRUE(summary.at("sums", "cpu", "online")->is_null());
}

TEST_F(ConsoleTest, ShowsWhatCannotBeReadAsUnknown) {
  must("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemetrics.slo.koordinator.sh", nullptr);
  node("n1");
  ASSERT_TRUE(start());
  const Json nodes = read_until("/api/v1/nodes", [](const Json& each) { return number(each, "total") == 1; });
  EXPECT_EQ(column(nodes, "report", 0), Json("unread"));
  for (const Json& source : read("/api/v1/summary").at("sources")->as_array()) {
    EXPECT_EQ(*source.member("read"), Json(source.text_at("name") != "nodeMetrics")) << source.dump();
  }
}

TEST_F(ConsoleTest, FiltersNodesAndColumns) {
  node("a1", Json::object({{"pool", "night"}}));
  node("b1");
  map("tidemark-config", "config.yaml",
      "schema: 1\nmode: enforce\npools:\n- name: night\n  nodeSelector: {matchLabels: {pool: night}}\n");
  ASSERT_TRUE(start());
  const Json night = read_until("/api/v1/nodes?pool=night&columns=name,state",
                                [](const Json& each) { return number(each, "total") == 1; });
  EXPECT_EQ(night.member("columns")->as_object().size(), 2u);
  EXPECT_EQ(column(night, "name", 0), Json("a1"));
  EXPECT_EQ(number(read("/api/v1/nodes?q=b"), "total"), 1);
  EXPECT_EQ(read("/api/v1/nodes?limit=1&offset=1").at("columns", "name")->as_array().size(), 1u);
  const auto wrong = get("/api/v1/nodes?columns=name,speed");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.headers.get("content-type"), "application/problem+json");
  EXPECT_EQ(Json::parse(wrong.body)->text_at("field"), "columns");
  EXPECT_EQ(get("/api/v1/nodes?state=asleep").status, 400);
  EXPECT_EQ(get("/api/v1/nodes?limit=-1").status, 400);
}

TEST_F(ConsoleTest, ShowsOneNodeWithExplanationTasksAndUse) {
  node("n1");
  report("n1", "t1");
  task("t1", "n1");
  map("slo-controller-config", "colocation-config", "{\"enable\":true}");
  ASSERT_TRUE(start());
  read_until("/api/v1/nodes",
             [](const Json& each) { return number(each, "total") == 1 && column(each, "cpuSold", 0) == Json(5'000); });
  const Json detail = read("/api/v1/nodes/n1");
  EXPECT_EQ(detail.text_at("explanation", "node"), "n1");
  EXPECT_EQ(number(detail, "explanation", "kubernetes.io/batch-cpu", "capacity"), 32'000);
  EXPECT_FALSE(detail.at("explanation", "sources")->as_array().empty());
  const Json& shown = detail.member("tasks")->as_array().at(0);
  EXPECT_EQ(shown.text_at("name"), "t1");
  EXPECT_EQ(shown.text_at("state"), "running");
  EXPECT_EQ(number(shown, "cpu"), 5'000);
  EXPECT_EQ(number(shown, "cpuUsed"), 4'000);
  EXPECT_EQ(get("/api/v1/nodes/nowhere").status, 404);
}

TEST_F(ConsoleTest, CompressesAnswersForClientsThatAcceptIt) {
  for (int i = 0; i < 100; ++i) node(cat("node-", i));
  ASSERT_TRUE(start());
  read_until("/api/v1/nodes", [](const Json& each) { return number(each, "total") == 100; });
  net::Headers accepts;
  accepts.set("accept-encoding", "br, gzip");
  const auto plain = get("/api/v1/nodes");
  const auto small = get("/api/v1/nodes", accepts);
  EXPECT_EQ(plain.headers.get("content-encoding"), "");
  EXPECT_EQ(small.headers.get("content-encoding"), "gzip");
  EXPECT_EQ(small.headers.get("vary"), "accept-encoding");
  EXPECT_LT(small.body.size() * 4, plain.body.size());
  EXPECT_EQ(small.body.substr(0, 2), "\x1f\x8b");
  accepts.set("accept-encoding", "gzip;q=0");
  EXPECT_EQ(get("/api/v1/nodes", accepts).headers.get("content-encoding"), "");
}

TEST_F(ConsoleTest, ShowsPoolsWithTheirLine) {
  map("tidemark-config", "config.yaml",
      "schema: 1\nmode: enforce\npools:\n- name: night\n  nodeSelector: {matchLabels: {pool: night}}\n");
  node("a1", Json::object({{"pool", "night"}}));
  ASSERT_TRUE(start());
  const Json pools = read_until("/api/v1/pools", [](const Json& each) {
    const auto& list = each.member("pools")->as_array();
    return list.size() == 2 && number(list[0], "sums", "nodes") == 1;
  });
  EXPECT_EQ(pools.member("pools")->as_array().at(0).text_at("name"), "night");
  EXPECT_EQ(number(pools.member("pools")->as_array().at(0), "line", "cpu", "percent"), 60);
  const Json detail = read("/api/v1/pools/night");
  EXPECT_EQ(detail.at("week", "at")->as_array().size(), detail.at("week", "cpu")->as_array().size());
  EXPECT_GT(detail.at("week", "at")->as_array().size(), 600u);
  EXPECT_EQ(get("/api/v1/pools/day").status, 404);
}

TEST_F(ConsoleTest, ReportsSettingsThatCannotBeUsed) {
  map("tidemark-config", "config.yaml", "schema: 1\n");
  node("n1");
  ASSERT_TRUE(start());
  read_until("/api/v1/problems", [](const Json& each) {
    return each.dump().find("ConfigMap tidemark-config: mode: missing") != std::string::npos;
  });
}

TEST_F(ConsoleTest, ReportsProblemsWithTheirNodes) {
  node("n1");
  must("PATCH", "/api/v1/nodes/n1/status",
       Json::object(
           {{"status",
             Json::object({{"conditions", Json::array({Json::object({{"type", "Ready"}, {"status", "False"}})})}})}}),
       kMerge);
  ASSERT_TRUE(start());
  const Json problems = read_until("/api/v1/problems",
                                   [](const Json& each) { return each.dump().find("notReady") != std::string::npos; });
  EXPECT_NE(problems.dump().find("\"n1\""), std::string::npos);
}

TEST_F(ConsoleTest, ShowsEventsAsDecisionsAndExportsThem) {
  node("n1");
  Json event = name_only("n1.1");
  event["involvedObject"] = Json::object({{"kind", "Node"}, {"name", "n1"}, {"apiVersion", "v1"}});
  event["source"] = Json::object({{"component", "tidemark-manager"}});
  event["reportingComponent"] = Json("tidemark-manager");
  event["type"] = Json("Warning");
  event["reason"] = Json("TidemarkContested");
  event["message"] = Json("another program writes the node [TM-STATE-001]");
  event["lastTimestamp"] = Json(base::format_rfc3339(clock.wall()).substr(0, 19) + "Z");
  must("POST", "/api/v1/namespaces/default/events", event);
  ASSERT_TRUE(start());
  read_until("/api/v1/nodes", [](const Json& each) { return number(each, "total") == 1; });
  const Json found = read("/api/v1/decisions?node=n1");
  EXPECT_EQ(number(found, "journals"), 0) << "no journal was given, and the page says so";
  const auto& decisions = found.member("decisions")->as_array();
  ASSERT_EQ(decisions.size(), 1u) << found.dump();
  EXPECT_EQ(decisions[0].text_at("source"), "event");
  EXPECT_EQ(decisions[0].text_at("reason"), "TM-STATE-001");
  EXPECT_EQ(decisions[0].text_at("pool"), "default");
  EXPECT_TRUE(read("/api/v1/decisions?node=n2").member("decisions")->as_array().empty());
  const auto csv = get("/api/v1/decisions?format=csv");
  EXPECT_EQ(csv.headers.get("content-type"), "text/csv; charset=utf-8");
  EXPECT_EQ(csv.headers.get("content-disposition"), "attachment; filename=\"decisions.csv\"");
  EXPECT_NE(csv.body.find("TidemarkContested"), std::string::npos) << csv.body;
  for (const char* wrong : {"since=yesterday", "limit=0", "limit=10001", "format=xml"}) {
    const auto answer = get(cat("/api/v1/decisions?", wrong));
    EXPECT_EQ(answer.status, 400) << wrong;
    EXPECT_EQ(cat(Json::parse(answer.body)->text_at("field"), "="),
              std::string(wrong).substr(0, std::string_view(wrong).find('=') + 1));
  }
}

TEST_F(ConsoleTest, ComparesWhatTheConfigMapsHoldWithTheRevisions) {
  constexpr std::string_view kText = "schema: 1\nmode: enforce\n";
  policy::settings::SettingsTexts before, now;
  before.slo["colocation-config"] = "{\"enable\":true}";
  before.tidemark = std::string(kText);
  now = before;
  now.slo["colocation-config"] = "{\"enable\":false}";
  policy::settings::StoredRevision revision{7, policy::settings::hash_of(before), clock.wall(), true, before};
  policy::settings::RolloutState state;
  state.layers.push_back({revision.hash, policy::settings::kAllNodes, policy::settings::kAllNodes});
  Json revisions = name_only("tidemark-config-revisions");
  revisions["data"] = Json::object({{"state", Json(policy::settings::encode_state(state))},
                                    {"revision-7", Json(policy::settings::encode_revision(revision))}});
  must("POST", kMaps, revisions);
  map("slo-controller-config", "colocation-config", now.slo["colocation-config"]);
  map("tidemark-config", "config.yaml", kText);
  node("n1");
  node("n2");
  must("PATCH", "/api/v1/nodes/n1",
       Json::object({{"metadata", Json::object({{"annotations",
                                                 Json::object({{"tidemark.io/config-hash", Json(revision.hash)}})}})}}),
       kMerge);
  ASSERT_TRUE(start());
  const Json settings = read_until("/api/v1/settings", [](const Json& each) { return number(each, "nodes") == 2; });
  EXPECT_TRUE(settings.at("current", "revision")->is_null()) << "no manager took the edit";
  EXPECT_EQ(settings.text_at("rollout", "target"), revision.hash);
  const Json& seventh = settings.member("revisions")->as_array().at(0);
  EXPECT_EQ(number(seventh, "nodes"), 2);
  EXPECT_EQ(number(seventh, "confirmed"), 1);
  const Json diff = read("/api/v1/settings/diff?from=7&to=now");
  const auto& changes = diff.member("changes")->as_array();
  ASSERT_EQ(changes.size(), 1u) << diff.dump();
  EXPECT_EQ(changes[0].text_at("key"), "colocation-config");
  EXPECT_NE(changes[0].text_at("diff").find("+"), std::string_view::npos);
  EXPECT_EQ(get("/api/v1/settings/diff?from=6&to=now").status, 404);
}

TEST_F(ConsoleTest, ShowsTheWeekOfACalendarFromMondayOn) {
  map("tidemark-config", "config.yaml",
      "schema: 1\nmode: enforce\ncalendars:\n- name: nights\n  zone: UTC\n  holidays: {days: [2026-11-25]}\n  "
      "entries:\n"
      "  - {name: night, cron: \"0 22 * * *\", for: 8h, cpu: 80, memory: 80, rampUp: 30m, on: workdays}\n"
      "  - {name: sale, kind: freeze, from: 2026-11-27T12:00, to: 2026-11-27T18:00}\n"
      "pools:\n- name: web\n  nodeSelector: {matchLabels: {role: web}}\n  calendar: nights\n");
  ASSERT_TRUE(start());
  read_until("/api/v1/pools", [](const Json& each) { return each.member("pools")->as_array().size() == 2; });
  const Json week = read("/api/v1/calendar?pool=web&at=1795694400");  // 2026-11-26, a Thursday
  const auto& days = week.member("days")->as_array();
  ASSERT_EQ(days.size(), 7u);
  EXPECT_EQ(days[0].text_at("date"), "2026-11-23");
  EXPECT_EQ(number(days[0], "at"), number(week, "from"));
  EXPECT_EQ(*days[2].member("listed"), Json(true));
  EXPECT_EQ(*days[6].member("rest"), Json(true));
  bool night = false, frozen = false;
  for (const Json& span : week.member("spans")->as_array()) {
    night |= span.text_at("entry") == "night" && number(span, "cpuTo") == 80;
    frozen |= span.text_at("phase") == "frozen" && span.text_at("entry") == "sale";
  }
  EXPECT_TRUE(night && frozen) << week.dump();
  EXPECT_EQ(get("/api/v1/calendar?pool=nowhere").status, 404);
  EXPECT_EQ(get("/api/v1/calendar?pool=web&at=soon").status, 400);
}

TEST_F(ConsoleTest, ShowsThePlatformWithWhatAgentsReport) {
  node("n1");
  node("n2");
  must("PATCH", "/api/v1/nodes/n1/status",
       Json::object(
           {{"status", Json::object({{"nodeInfo", Json::object({{"kernelVersion", "6.1.0-18-amd64"}})},
                                     {"conditions", Json::array({Json::object({{"type", "TidemarkIsolation"},
                                                                               {"status", "True"},
                                                                               {"reason", "Enforcing"},
                                                                               {"message",
                                                                                "suppress: enforce; kernel files "
                                                                                "effective: cpu.idle; refused: "
                                                                                "memory.low; left to another "
                                                                                "writer: 1"}})})}})}}),
       kMerge);
  Json lease = name_only("koordinator-manager");
  lease["metadata"]["annotations"] =
      Json::object({{model::kQueuesAnnotation, Json(model::format_queues({{"nodeslo", 3, clock.wall() + -60s}}))},
                    {model::kAnnotatedByAnnotation, "m-1"}});
  lease["spec"] = Json::object({{"holderIdentity", "m-1"}, {"leaseDurationSeconds", 15}});
  must("POST", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases", lease);
  Json pod = name_only("tidemark-manager-1");
  pod["metadata"]["labels"] =
      Json::object({{"app.kubernetes.io/name", "tidemark"}, {"app.kubernetes.io/component", "manager"}});
  pod["spec"] =
      Json::object({{"containers", Json::array({Json::object({{"name", "c"}, {"image", "r/tidemark:v9"}})})}});
  must("POST", "/api/v1/namespaces/koordinator-system/pods", pod);
  ASSERT_TRUE(start());
  const Json platform =
      read_until("/api/v1/platform", [](const Json& each) { return each.member("kernels")->as_array().size() == 2; });
  const Json& manager = platform.at("components", "rows")->as_array().at(0);
  EXPECT_EQ(manager.text_at("component"), "manager");
  EXPECT_EQ(manager.text_at("version"), "v9");
  EXPECT_EQ(number(manager, "ready"), 0);
  EXPECT_EQ(manager.member("notReady")->as_array().size(), 1u);
  EXPECT_TRUE(platform.member("certificate")->is_null());
  EXPECT_TRUE(platform.at("requests", "since")->is_int());
  const Json& leader = platform.at("leases", "rows")->as_array().at(0);
  EXPECT_EQ(leader.text_at("holder"), "m-1");
  EXPECT_TRUE(leader.member("renewed")->is_null()) << "unknown, not 0";
  EXPECT_TRUE(platform.at("queues", "rows")->as_array().at(0).member("length")->is_null()) << "unknown, not 3";
  must("PATCH", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager",
       Json::object({{"spec", Json::object({{"leaseDurationSeconds", 900},
                                            {"renewTime", Json(base::format_rfc3339_micro(clock.wall()))}})}}),
       kMerge);
  const Json renewed = read_until("/api/v1/platform", [](const Json& each) {
    return each.at("queues", "rows")->as_array().at(0).member("length")->is_int();
  });
  const Json& queue = renewed.at("queues", "rows")->as_array().at(0);
  EXPECT_EQ(queue.text_at("name"), "nodeslo");
  EXPECT_EQ(number(queue, "length"), 3);
  EXPECT_TRUE(queue.member("oldestSince")->is_int());
  const Json& unknown = platform.member("kernels")->as_array().at(0);
  EXPECT_EQ(unknown.text_at("family"), "");
  EXPECT_TRUE(unknown.member("agents")->as_array().at(0).member("reason")->is_null());
  const Json& known = platform.member("kernels")->as_array().at(1);
  EXPECT_EQ(known.text_at("family"), "6.1");
  EXPECT_EQ(known.member("agents")->as_array().at(0).text_at("kernelFiles"),
            "effective: cpu.idle; refused: memory.low");
  EXPECT_TRUE(unknown.member("lacks")->as_array().empty()) << "no agent reported";
  EXPECT_EQ(known.member("lacks")->dump(),
            R"(["cpu.shares","cpu.cfs_quota_us","cpu.bvt_warp_ns","cpu.qos_level","cpuset.cpus",)"
            R"("memory.limit_in_bytes","memory.min"])")
      << "the kernel has memory.low, and refuses it";
}

TEST_F(ConsoleTest, ShowsTheStateOfResourceManagersWhileTheLeaseWithItIsRenewed) {
  const base::WallTime now = clock.wall();
  const auto micro = [&](base::Duration before) { return Json(base::format_rfc3339_micro(now + -before)); };
  Json lease = name_only("koordinator-yarn-operator");
  lease["metadata"]["annotations"] = Json::object(
      {{model::kYarnManagersAnnotation, Json(model::format_yarn_managers({{"c", "rm1", "a:1", "away", now + -60s},
                                                                          {"c", "rm2", "b:1", "unknown", now}}))},
       {model::kAnnotatedByAnnotation, "o-1"}});
  lease["spec"] = Json::object({{"holderIdentity", "o-1"}, {"leaseDurationSeconds", 900}, {"renewTime", micro(300s)}});
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases";
  must("POST", leases, lease);
  ASSERT_TRUE(start());
  const auto manager_of = [](const Json& yarn) -> const Json& { return yarn.at("managers", "rows")->as_array().at(0); };
  const Json yarn = read("/api/v1/yarn");
  const Json& first = manager_of(yarn);
  EXPECT_EQ(first.text_at("id"), "rm1");
  EXPECT_EQ(first.text_at("state"), "away");
  EXPECT_EQ(number(first, "since"), std::chrono::floor<std::chrono::seconds>((now + -60s).since_epoch).count());
  EXPECT_TRUE(yarn.at("managers", "rows")->as_array().at(1).member("state")->is_null());
  const auto change = [&](Json spec) {
    must("PATCH", cat(leases, "/koordinator-yarn-operator"), Json::object({{"spec", std::move(spec)}}), kMerge);
  };
  change(Json::object({{"holderIdentity", "koordinators"}}));
  read_until("/api/v1/yarn", [&](const Json& each) { return manager_of(each).member("state")->is_null(); });
  change(Json::object({{"holderIdentity", "o-1"}, {"renewTime", micro(901s)}}));
  const auto reported = std::chrono::floor<std::chrono::seconds>((now + -901s).since_epoch).count();
  const Json old =
      read_until("/api/v1/yarn", [&](const Json& each) { return number(manager_of(each), "reported") == reported; });
  EXPECT_TRUE(manager_of(old).member("state")->is_null()) << "unknown, not away";
}

TEST_F(ConsoleTest, ShowsWhatYarnIsOfferedAndHolds) {
  node("n1");
  node("n2");
  const auto annotate = [&](std::string_view name, const Json& annotations) {
    must("PATCH", cat("/api/v1/nodes/", name),
         Json::object({{"metadata", Json::object({{"annotations", annotations}})}}), kMerge);
  };
  model::YarnOffer offer;
  offer.generation = 3;
  offer.offer = offer.up_to = {{8000}, {std::int64_t{16} << 30}};
  offer.reclaim = {{"spark", {{1000}, {std::int64_t{1} << 30}}, {}, "TM-YARN-001"}};
  model::YarnBook book;
  book.generation = 3;
  book.confirmed = offer.offer;
  book.sold = {{"spark", {{2000}, {std::int64_t{4} << 30}}}};
  annotate("n1", Json::object({{"tidemark.io/yarn-offer", Json(model::format_yarn_offer(offer))},
                               {"tidemark.io/yarn-book", Json(model::format_yarn_book(book))},
                               {"tidemark.io/yarn-book-of", "blue/n1:45454"}}));
  book.generation = 2;
  book.sold.reset();  // the ResourceManager is away
  annotate("n2", Json::object({{"tidemark.io/yarn-offer", Json(model::format_yarn_offer(offer))},
                               {"tidemark.io/yarn-book", Json(model::format_yarn_book(book))},
                               {"tidemark.io/yarn-book-of", "blue/n2:45454"}}));
  ASSERT_TRUE(start());
  const Json yarn =
      read_until("/api/v1/yarn", [](const Json& each) { return each.member("nodes")->as_array().size() == 2; });
  const Json& blue = yarn.member("clusters")->as_array().at(0);
  EXPECT_EQ(blue.text_at("name"), "blue");
  EXPECT_EQ(number(blue, "offered", "cpu"), 16'000);
  EXPECT_EQ(number(blue, "held", "cpu"), 2'000);
  EXPECT_EQ(number(blue, "withoutHeld"), 1);
  EXPECT_EQ(number(blue, "unconfirmed"), 1);
  EXPECT_EQ(number(blue, "contested"), 0);
  const Json& second = yarn.member("nodes")->as_array().at(1);
  EXPECT_EQ(second.text_at("nodeManager"), "n2:45454");
  EXPECT_TRUE(second.member("held")->is_null()) << "unknown, not 0";
  EXPECT_EQ(*second.member("isConfirmed"), Json(false));
  const Json of_node = read("/api/v1/nodes/n1");
  EXPECT_EQ(of_node.text_at("yarn", "cluster"), "blue");
  const Json& held = of_node.at("yarn", "held")->as_array().at(0);
  EXPECT_EQ(held.text_at("class"), "spark");
  EXPECT_EQ(number(held, "cpu"), 2'000);
  EXPECT_TRUE(read("/api/v1/nodes/n2").at("yarn", "held")->is_null()) << "unknown, not 0";
  const Json& reclaim = of_node.at("yarn", "reclaim")->as_array().at(0);
  EXPECT_EQ(reclaim.text_at("class"), "spark");
  EXPECT_EQ(number(reclaim, "memory"), 1 << 30);
  EXPECT_EQ(reclaim.text_at("reason"), "TM-YARN-001");
  const Json rows = read_until("/api/v1/nodes", [](const Json& each) { return column(each, "cpuSold", 0).is_int(); });
  EXPECT_EQ(column(rows, "cpuSold", 0), Json(2'000));
  EXPECT_TRUE(column(rows, "cpuSold", 1).is_null()) << "unknown, not 0";
}

TEST_F(ConsoleTest, AnswersNotModifiedForTheSameContent) {
  ASSERT_TRUE(start());
  const auto first = get("/api/openapi.json");
  ASSERT_EQ(first.status, 200);
  EXPECT_EQ(Json::parse(first.body)->text_at("openapi"), "3.1.0");
  net::Headers same;
  same.set("if-none-match", first.headers.get("etag"));
  const auto again = get("/api/openapi.json", same);
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.body.empty());
}

TEST_F(ConsoleTest, DescribesEveryColumn) {
  const auto described = Json::parse(openapi_text());
  ASSERT_TRUE(described);
  const Json* row = described->at("components", "schemas", "NodeRow", "properties");
  ASSERT_NE(row, nullptr);
  std::vector<std::string> names;
  for (const auto& [name, schema] : row->as_object()) names.push_back(name);
  std::vector<std::string> ours;
  for (const NodeColumn& each : node_columns()) ours.emplace_back(each.name);
  EXPECT_EQ(names, ours);
}

TEST_F(ConsoleTest, RefusesAnotherHostAndUnknownPaths) {
  ASSERT_TRUE(start());
  for (const auto* path : {"/", "/api/v1/nodes", "/api/v1/stream", "/metrics"}) {
    const std::string answer = raw(cat("GET ", path, " HTTP/1.1\r\nHost: evil.example\r\n\r\n"));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 421 ")) << path << ": " << answer;
  }
  EXPECT_EQ(get("/api/v1/nothing").status, 404);
  EXPECT_EQ(get("/../etc/passwd").status, 404);
  EXPECT_EQ(get("/assets/none.js").status, 404);
  const auto written = get("/api/v1/nodes", {}, "DELETE");
  EXPECT_EQ(written.status, 405);
  EXPECT_EQ(written.headers.get("allow"), "GET, HEAD");
  EXPECT_EQ(get("/api/v1/settings/texts", {}, "POST").headers.get("allow"), "GET, HEAD, PUT");
  EXPECT_EQ(get("/api/v1/settings/undo").headers.get("allow"), "POST");
}

TEST_F(ConsoleTest, ServesItsMetrics) {
  ASSERT_TRUE(start());
  const auto answer = get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("tidemark_console_stream_readers 0"), std::string::npos) << answer.body;
}

TEST_F(ConsoleTest, RefusesToListenOffLoopback) {
  for (const char* address : {"0.0.0.0:0", ":0", "192.168.0.1:0", "example.com:80", "unix:/tmp/console"}) {
    const auto started = start(address);
    ASSERT_FALSE(started) << address;
    EXPECT_NE(started.error().message.find("127.0.0.1:PORT"), std::string::npos) << started.error().message;
  }
}

TEST_F(ConsoleTest, StreamsASnapshotAndThenChanges) {
  node("n1");
  ASSERT_TRUE(start());
  read_until("/api/v1/nodes", [](const Json& each) { return number(each, "total") == 1; });
  net::HttpRequest request;
  request.target = "/api/v1/stream";
  auto stream = net::testing::run_task(loop, browser->open(std::move(request), 30s));
  ASSERT_TRUE(stream);
  std::string got;
  const auto until = [&](std::string_view words) {
    while (got.find(words) == std::string::npos) {
      auto piece = net::testing::run_task(loop, (*stream)->read(30s));
      if (!piece || !*piece) return false;
      got += **piece;
    }
    return true;
  };
  ASSERT_TRUE(until("event: snapshot")) << got;
  ASSERT_TRUE(until("\"n1\"")) << got;
  node("n2");
  EXPECT_TRUE(until("\"rows\":[[\"n2\"")) << got;
  must("DELETE", "/api/v1/nodes/n2", nullptr);
  EXPECT_TRUE(until("\"gone\":[\"n2\"]")) << got;
  operate::OffProgress progress;
  progress.scope = "cluster";
  progress.by = "ann";
  map(operate::kOffProgressName, "cluster", operate::progress_json(progress).dump());
  EXPECT_TRUE(until("\"evictions\":true")) << got;
  EXPECT_EQ(got.find("ann"), std::string::npos) << "a reader of the stream may not be allowed to read the ConfigMap";
  EXPECT_EQ(read("/api/v1/orders").member("evictions")->as_array().at(0).text_at("by"), "ann");
}

TEST_F(ConsoleTest, ServesThePageCompressedWithItsHeaders) {
  ASSERT_TRUE(start());
  if (!console->has_page()) {
    EXPECT_EQ(get("/").status, 501);
    GTEST_SKIP() << "built without Node.js";
  }
  net::Headers gzip;
  gzip.set("accept-encoding", "gzip, deflate");
  for (const char* path : {"/", "/pools", "/pools/night", "/nodes/n1", "/offline", "/decisions", "/settings",
                           "/calendar", "/platform", "/yarn", "/join"}) {
    const auto page = get(path, gzip);
    EXPECT_EQ(page.status, 200) << path;
    EXPECT_EQ(page.headers.get("content-encoding"), "gzip");
    EXPECT_EQ(page.headers.get("cache-control"), "no-cache");
    EXPECT_NE(page.headers.get("content-security-policy").find("script-src 'self'"), std::string_view::npos);
  }
  EXPECT_EQ(get("/").status, 406);
  std::size_t first_page = 0;
  for (const PageFile& file : page_files()) {
    const bool later = file.path.starts_with("/assets/uPlot") || file.path.starts_with("/assets/further");
    if (!later) first_page += file.br.size();
  }
  EXPECT_LE(first_page, 60u * 1024);
}

}  // namespace
}  // namespace tidemark::console
