#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/annotations.h"
#include "yarn_operator/testing/operator_world.h"

namespace tidemark::yarn_operator {
namespace {

using namespace std::chrono_literals;
using testing::kMerge;
using testing::kOrigin;
using testing::kThird;

class YarnOperatorTest : public testing::OperatorWorld {
 protected:
  bool away_is(int clusters) {
    return until([&] {
      return metrics.text().find(base::cat("tidemark_yarn_operator_clusters_away ", clusters, "\n")) !=
             std::string::npos;
    });
  }
};

TEST_F(YarnOperatorTest, SendsTotalsToYarnAndPublishesHeldAmountToKubernetes) {
  manager().nodes = {{{"a", 1}, {.used_memory = 1500, .used_vcores = 2}}};
  node("n1", "a:1", origin("3500", "3Gi"));
  pod("batch", "n1", "1k", "1Gi");
  begin();
  EXPECT_TRUE(total({"a", 1}, 2048, 2));
  EXPECT_TRUE(third_is("n1", held("2k", "1500Mi")));
  EXPECT_EQ(manager().overcommit,
            0x7fffffff);  // no total kills a container, nor does the persistent timeout of an earlier one

  must("DELETE", "/api/v1/namespaces/default/pods/batch?gracePeriodSeconds=0", Json());
  EXPECT_TRUE(total({"a", 1}, 3072, 3));
  ASSERT_FALSE(audit.empty());
  EXPECT_EQ(audit[0].verb, "updateNodeResource");
  EXPECT_EQ(audit[0].name, "a:1");
  EXPECT_EQ(audit[0].old_value, R"({"memoryMiB":8192,"vcores":8})");
  EXPECT_EQ(audit[0].new_value, R"({"memoryMiB":2048,"vcores":2})");
  EXPECT_EQ(audit[0].reason, "TM-YARN-001");
}

// A cluster has many pods that hold no batch.
TEST_F(YarnOperatorTest, StoresOnlyPodsThatHoldBatch) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  pod("batch", "n1", "1k", "1Gi");
  for (const char* online : {"web-1", "web-2", "web-3"}) pod(online, "n1", "0", "0");
  begin();
  EXPECT_TRUE(total({"a", 1}, 3072, 3));
  EXPECT_EQ(metrics.gauge("tidemark_informer_objects", "", {{"component", "pods"}}).value(), 1);
}

TEST_F(YarnOperatorTest, MapsANodeManagerByItsPodAndStoresThatPodSeparately) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "", origin("4k", "4Gi"));
  const Json metadata =
      Json::object({{"name", "nm"},
                    {"labels", Json::object({{model::kYarnComponentLabel, Json(model::kYarnNodeManager)}})},
                    {"annotations", Json::object({{model::kYarnNodeIdAnnotation, "a:1"}})}});
  const Json container = Json::object({{"name", "c"}, {"image", "i"}});
  must("POST", "/api/v1/namespaces/default/pods",
       Json::object({{"metadata", metadata},
                     {"spec", Json::object({{"nodeName", "n1"}, {"containers", Json::array({container})}})}}));
  begin();
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  EXPECT_EQ(metrics.gauge("tidemark_informer_objects", "", {{"component", "pods"}}).value(), 0);
  EXPECT_EQ(metrics.gauge("tidemark_informer_objects", "", {{"component", "node_manager_pods"}}).value(), 1);
}

TEST_F(YarnOperatorTest, SendsAllChangesInOneCallAndEachOnce) {
  for (int i = 0; i < 20; ++i) {
    const std::string host = "h" + std::to_string(i);
    manager().nodes[{host, 1}] = {};
    node("n" + std::to_string(i), host + ":1", origin("4k", "4Gi"));
  }
  begin();
  EXPECT_TRUE(total({"h19", 1}, 4096, 4));
  pass(1s);
  EXPECT_EQ(manager().updates, 1);
  EXPECT_EQ(manager().updated_nodes, 20);
  EXPECT_EQ(client ? manager().admin->connections().size() : 0, 1U);
}

// It may leave between the report and the update.
TEST_F(YarnOperatorTest, ANodeThatTheResourceManagerDoesNotKnowDoesNotDelayOthers) {
  for (int i = 10; i < 30; ++i) {
    const std::string host = "h" + std::to_string(i);
    manager().nodes[{host, 1}] = {};
    node("n" + std::to_string(i), host + ":1", origin("4k", "4Gi"));
  }
  manager().unknown = {"h17"};
  options.poll = 10min;
  begin();
  EXPECT_TRUE(until([&] { return manager().updated_nodes == 19; }));
  EXPECT_EQ(manager().nodes.at({"h17", 1}).memory, 8192);
  EXPECT_TRUE(std::ranges::any_of(audit, [](const model::AuditLine& line) {
    return line.name == "h17:1" && line.outcome == model::AuditOutcome::kRefused;
  }));
  manager().unknown.clear();
  EXPECT_TRUE(total({"h17", 1}, 4096, 4)) << "within a second, not with the next poll";
}

TEST_F(YarnOperatorTest, ARefusalOfEachNodeIsNotRepeatedForEach) {
  for (int i = 0; i < 64; ++i) {
    const std::string host = "h" + std::to_string(i);
    manager().nodes[{host, 1}] = {};
    node("n" + std::to_string(i), host + ":1", origin("4k", "4Gi"));
  }
  manager().unknown = {"h"};
  options.poll = 10min;
  begin();
  EXPECT_TRUE(until([&] { return !audit.empty(); }));
  pass(200ms);
  EXPECT_LT(manager().updates, 64) << "two rounds; each node alone takes 127 calls a round";
}

TEST_F(YarnOperatorTest, RefusesMemoryPerVcoreWithKoordinatorRounding) {
  options.totals.memory_per_vcore_mib = 2048;
  options.totals.rounding = policy::sell::YarnRounding::kPeer;
  const auto made =
      YarnOperator::make(loop, {*client, *client, workers, {}, "me"}, {}, log, metrics, base::Random(2), options);
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().message.starts_with("--memory-per-vcore has no effect with --rounding=peer"));
}

TEST_F(YarnOperatorTest, ReportsASchedulerThatIgnoresVcores) {
  manager().nodes = {{{"a", 1}, {.used_memory = 1536, .used_vcores = 5}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  manager().used_share = 1.25F;  // of 4 vcores
  begin();
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  auto& ignoring = metrics.gauge("tidemark_yarn_operator_clusters_ignoring_cpu", "");
  const auto warned = [&] {
    return std::ranges::any_of(said, [](const std::string& line) {
      return line.contains("ignores vcores") && line.contains("DominantResourceCalculator");
    });
  };
  pass(1s);
  EXPECT_EQ(ignoring.value(), 0);
  EXPECT_FALSE(warned());
  manager().used_share = 0.375F;  // of 4096 MiB
  EXPECT_TRUE(until([&] { return ignoring.value() == 1; }));
  EXPECT_TRUE(warned());
  manager().used_share = 1.25F;
  EXPECT_TRUE(until([&] { return ignoring.value() == 0; }));
}

// DESIGN 9: growth has a dead band, a cut does not.
TEST_F(YarnOperatorTest, DoesNotSendSmallGrowth) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("100k", "100Gi"));
  begin();
  ASSERT_TRUE(total({"a", 1}, 102400, 100));
  const auto sells = [&](std::string_view cpu, std::string_view memory) {
    must("PATCH", "/api/v1/nodes/n1", annotations(Json::object({{kOrigin, origin(cpu, memory)}})), kMerge);
  };
  sells("99k", "102000Mi");
  ASSERT_TRUE(total({"a", 1}, 102000, 99)) << "even a small cut";
  const int updates = manager().updates;
  for (const std::string_view memory : {"102100Mi", "102400Mi", "103020Mi", "102010Mi"}) {
    sells("99k", memory);
    pass(1s);
  }
  EXPECT_EQ(manager().updates, updates) << "at most a hundredth above the current total";
  sells("99k", "103100Mi");
  EXPECT_TRUE(total({"a", 1}, 103100, 99)) << "small steps add up";
}

// An operator that starts while the total is slightly below the possible one: no update is needed, but the manager must
// know the total that YARN uses.
TEST_F(YarnOperatorTest, PublishesTheTotalInForceWhileGrowthWaits) {
  manager().nodes = {{{"a", 1}, {.memory = 102'000, .vcores = 100}}};
  node("n1", "a:1", origin("100k", "100Gi"));
  begin();
  std::string book;
  for (int i = 0; i < 500 && book.empty(); ++i) {
    pass(10ms);
    book = annotation("n1", "tidemark.io/yarn-book");
  }
  EXPECT_NE(book.find("102000Mi"), std::string::npos) << book;
  EXPECT_EQ(manager().updates, 0);
}

// Ages come from the monotonic clock: setting the wall clock changes nothing.
TEST_F(YarnOperatorTest, IgnoresAWallClockThatIsSet) {
  options.lost_hold = 10min;
  manager().nodes = {{{"a", 1}, {.used_memory = 1024, .used_vcores = 1}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  begin();
  ASSERT_TRUE(total({"a", 1}, 4096, 4));
  ASSERT_TRUE(third_is("n1", held("1k", "1Gi")));
  const auto sells = [&](std::string_view cpu) {
    must("PATCH", "/api/v1/nodes/n1", annotations(Json::object({{kOrigin, origin(cpu, "4Gi")}})), kMerge);
  };
  std::int64_t cores = 4;
  for (const base::Duration off : {1h, -1h}) {
    clock.off = off;
    sells(base::cat(--cores, "k"));
    EXPECT_TRUE(total({"a", 1}, 4096, cores)) << "sent as usual";
    const int updates = manager().updates;
    pass(1s);
    EXPECT_EQ(manager().updates, updates) << "and once";
  }
  // Lost just now: its containers may still run for the configured time, independent of wall clocks.
  manager().nodes.at({"a", 1}).state = 5;
  clock.off = 24h;
  pass(1s);
  EXPECT_TRUE(third_is("n1", held("1k", "1Gi")));
  EXPECT_EQ(running->not_ready(), "");
}

TEST_F(YarnOperatorTest, SendsAgainAfterANodeManagerRestart) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  begin();
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  pass(500ms);  // a report has shown it
  manager().nodes.at({"a", 1}) = {};
  pass(3500ms);  // longer than an update may take to show
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  EXPECT_EQ(audit.back().reason, "TM-YARN-011");
}

// A ResourceManager rejects the whole update if it names a node that is not active.
TEST_F(YarnOperatorTest, ALostNodeManagerDoesNotDelayOthers) {
  manager().nodes = {{{"a", 1}, {.state = 5}}, {{"b", 1}, {}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  node("n2", "b:1", origin("4k", "4Gi"));
  begin();
  EXPECT_TRUE(total({"b", 1}, 4096, 4));
  EXPECT_EQ(manager().refused, "");
  manager().nodes.at({"a", 1}).state = 2;
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
}

TEST_F(YarnOperatorTest, FindsANodeManagerOnAnotherPortByItsAddress) {
  manager().nodes = {{{"n1", 1}, {.state = 5}}, {{"n1", 2}, {}}};
  node("n1", "", origin("4k", "4Gi"));
  begin();
  EXPECT_TRUE(total({"n1", 2}, 4096, 4));
}

TEST_F(YarnOperatorTest, FindsANodeManagerByInternalAddress) {
  manager().nodes = {{{"10.0.0.7", 1}, {}}};
  node("n1", "", origin("4k", "4Gi"));
  must("PATCH", "/api/v1/nodes/n1/status",
       *Json::parse(R"({"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.7"}]}})"), kMerge);
  begin();
  EXPECT_TRUE(total({"10.0.0.7", 1}, 4096, 4));
}

TEST_F(YarnOperatorTest, AnUnreachableClusterDoesNotDelayOthers) {
  manager().nodes = {{{"a", 1}, {}}};
  manager("blue").nodes = {{{"b", 1}, {}}};
  manager().away = true;
  node("n1", "a:1", origin("4k", "4Gi"));
  node("n2", "b:1", origin("2k", "2Gi"));
  patch("n2", annotations(Json::object({{"yarn.hadoop.apache.org/cluster-id", "blue"}})));
  begin();
  EXPECT_TRUE(total({"b", 1}, 2048, 2, "blue"));
  EXPECT_TRUE(third_is("n2", held("0", "0")));
  EXPECT_EQ(third("n1"), "");  // unknown: nothing is published
  manager().away = false;
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  EXPECT_TRUE(third_is("n1", held("0", "0")));
}

TEST_F(YarnOperatorTest, LeaseShowsTheStateOfEachResourceManager) {
  options.leader_elect = true;
  options.lease.ns = "default";
  options.lease.identity = "me";
  options.lease.retry_period = 100ms;
  manager("b").away = true;
  manager("c").standby = true;
  begin();
  const auto shown = [&] {
    const Json lease =
        must("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases/koordinator-yarn-operator", Json());
    const auto managers =
        model::parse_yarn_managers(lease.text_at("metadata", "annotations", model::kYarnManagersAnnotation));
    std::string out;
    if (!managers) return out;
    for (const auto& each : *managers) out += base::cat(each.cluster, " ", each.state, "; ");
    return out;
  };
  ASSERT_TRUE(until([&] { return metrics.gauge("tidemark_leader", "").value() == 1; }));
  for (int i = 0; i < 500 && shown().empty(); ++i) pass(10ms);
  EXPECT_EQ(shown(), "b away; c standby; ");
}

// Seen on a real one at a failover: for a moment it reports a node with containers as running with none.
TEST_F(YarnOperatorTest, IgnoresLowerAmountsOfARestartedResourceManager) {
  manager().nodes = {{{"a", 1}, {.used_memory = 2048, .used_vcores = 2}}, {{"b", 1}, {}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  node("n2", "b:1", origin("4k", "4Gi"));
  begin();
  EXPECT_TRUE(third_is("n1", held("2k", "2Gi")));
  EXPECT_TRUE(third_is("n2", held("0", "0")));
  manager().away = true;
  ASSERT_TRUE(away_is(1));
  manager().nodes = {{{"a", 1}, {}}, {{"b", 1}, {.used_memory = 1024, .used_vcores = 1}}};
  manager().away = false;
  EXPECT_TRUE(third_is("n2", held("1k", "1Gi"))) << "a larger amount is used at once";
  EXPECT_EQ(third("n1"), held("2k", "2Gi"));

  // An operator that starts at such a moment uses the published amounts.
  running.reset();
  manager().nodes = {{{"b", 1}, {.used_memory = 512, .used_vcores = 1}}};
  begin();
  EXPECT_TRUE(third_is("n2", held("1k", "512Mi")));
  manager().nodes = {{{"a", 1}, {}}, {{"b", 1}, {.used_memory = 256, .used_vcores = 1}}};
  EXPECT_TRUE(third_is("n2", held("1k", "256Mi")));
  EXPECT_EQ(third("n1"), held("2k", "2Gi"));
}

// Independent of the poll interval.
TEST_F(YarnOperatorTest, PollsFasterAtAFailoverUntilAllNodesAreThere) {
  options.poll = 10min;
  node("n1", "a:1", origin("4k", "4Gi"));
  node("n2", "b:1", origin("2k", "2Gi"));
  manager().away = true;
  begin();
  ASSERT_TRUE(away_is(1));
  manager().nodes = {{{"a", 1}, {}}};
  manager().away = false;
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  manager().nodes[{"b", 1}] = {};
  EXPECT_TRUE(total({"b", 1}, 2048, 2));
}

// If the API server does not answer, a pass over thousands of nodes would wait for each.
TEST_F(YarnOperatorTest, TriesOnlyAFewWritesIfTheApiServerDoesNotAnswer) {
  for (int i = 0; i < 9; ++i) {
    const std::string host = base::cat("h", i);
    manager().nodes[{host, 1}] = {.used_memory = 1024, .used_vcores = 1};
    node(base::cat("n", i), host + ":1", origin("4k", "4Gi"));
  }
  patches_refused = true;
  begin();
  const auto tried = [&] {
    std::map<std::string, int> nodes;
    for (const std::string& line : said) {
      if (line.find("cannot write node") != std::string::npos) ++nodes[line.substr(line.find("node="), 7)];
    }
    return nodes;
  };
  ASSERT_TRUE(until([&] { return std::ranges::any_of(tried(), [](const auto& each) { return each.second >= 2; }); }));
  EXPECT_EQ(tried().size(), 3U);
  patches_refused = false;
  EXPECT_TRUE(third_is("n8", held("1k", "1Gi")));
}

TEST_F(YarnOperatorTest, SendsZeroToCordonedNotReadyAndOffNodes) {
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  begin();
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  patch("n1", Json::object({{"spec", Json::object({{"unschedulable", true}})}}));
  EXPECT_TRUE(total({"a", 1}, 0, 0));
  patch("n1", Json::object({{"spec", Json::object({{"unschedulable", Json()}})}}));
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  patch("n1", Json::object({{"metadata", Json::object({{"labels", Json::object({{"tidemark.io/state", "off"}})}})}}));
  EXPECT_TRUE(total({"a", 1}, 0, 0));
}

TEST_F(YarnOperatorTest, KeepsTotalsIfMostNodesBecomeNotReadyTogether) {
  const auto name = [](int i) { return base::cat("n", i); };
  const auto say_ready = [&](int i, std::string_view status) {
    const Json condition = Json::object({{"type", "Ready"}, {"status", status}});
    must("PATCH", base::cat("/api/v1/nodes/", name(i), "/status"),
         Json::object({{"status", Json::object({{"conditions", Json::array({condition})}})}}), kMerge);
  };
  for (int i = 0; i < 5; ++i) {
    manager().nodes[{base::cat("h", i), 1}] = {};
    node(name(i), base::cat("h", i, ":1"), origin("4k", "4Gi"));
  }
  begin();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(total({base::cat("h", i), 1}, 4096, 4));
  for (int i : {0, 1}) say_ready(i, "Unknown");
  for (int i : {0, 1}) EXPECT_TRUE(total({base::cat("h", i), 1}, 0, 0)) << "two of five failed";
  for (int i : {0, 1}) say_ready(i, "True");
  for (int i : {0, 1}) EXPECT_TRUE(total({base::cat("h", i), 1}, 4096, 4));
  manager().away = true;  // so that all of them change in one pass
  for (int i : {0, 1, 2}) say_ready(i, "Unknown");
  pass(200ms);
  manager().away = false;
  EXPECT_TRUE(until([&] { return metrics.text().contains("tidemark_yarn_operator_silent_nodes 3\n"); }));
  patch("n4", annotations(Json::object({{kOrigin, origin("2k", "2Gi")}})));
  EXPECT_TRUE(total({"h4", 1}, 2048, 2)) << "the others get totals as usual";
  for (int i : {0, 1, 2}) EXPECT_EQ(manager().nodes.at({base::cat("h", i), 1}).memory, 4096);
  say_ready(0, "True");
  for (int i : {1, 2}) EXPECT_TRUE(total({base::cat("h", i), 1}, 0, 0)) << "now it is only two";
}

TEST_F(YarnOperatorTest, CountsALostNodeManagerForAWhileAndKeepsOtherAllocations) {
  manager().nodes = {{{"a", 1}, {.used_memory = 1024, .used_vcores = 1}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  patch("n1", annotations(Json::object({{kThird, R"({"allocations":[{"name":"other","priority":"koord-mid"}]})"}})));
  begin();
  const auto both = [](const std::string& yarn) {
    return R"({"allocations":[{"name":"other","priority":"koord-mid"},)" + yarn.substr(yarn.find('[') + 1);
  };
  EXPECT_TRUE(third_is("n1", both(held("1k", "1Gi"))));
  manager().nodes.at({"a", 1}).state = 5;  // LOST
  pass(300ms);
  EXPECT_EQ(third("n1"), both(held("1k", "1Gi")));
  EXPECT_TRUE(third_is("n1", both(held("0", "0"))));
}

// Its ResourceManager removes it from the scheduler and reports zero usage at once.
TEST_F(YarnOperatorTest, CountsAnUnhealthyNodeManagerForAWhile) {
  manager().nodes = {{{"a", 1}, {.used_memory = 1024, .used_vcores = 1}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  begin();
  EXPECT_TRUE(total({"a", 1}, 4096, 4));
  EXPECT_TRUE(third_is("n1", held("1k", "1Gi")));
  manager().nodes.at({"a", 1}) = {.memory = 4096, .vcores = 4, .state = 3};
  pass(options.lost_hold / 2);
  EXPECT_EQ(third("n1"), held("1k", "1Gi"));
  EXPECT_TRUE(third_is("n1", held("0", "0")));
  // It still gets its total: it has that when it recovers.
  patch("n1", annotations(Json::object({{kOrigin, origin("2k", "2Gi")}})));
  EXPECT_TRUE(total({"a", 1}, 2048, 2));
  EXPECT_EQ(manager().refused, "");
}

TEST_F(YarnOperatorTest, SendsAndWritesNothingInObserveMode) {
  options.mode = "observe";
  manager().nodes = {{{"a", 1}, {}}};
  node("n1", "a:1", origin("4k", "4Gi"));
  begin();
  pass(1s);
  EXPECT_EQ(manager().updates, 0);
  EXPECT_EQ(third("n1"), "");
  EXPECT_EQ(running->not_ready(), "");
}

TEST_F(YarnOperatorTest, KeepsTheTotalOfAnUnreadableNodeAndContinuesWithOthers) {
  manager().nodes = {{{"a", 1}, {}}, {{"b", 1}, {}}};
  node("n1", "a:1", Json("{"));
  node("n2", "b:1", origin("2k", "2Gi"));
  begin();
  EXPECT_TRUE(total({"b", 1}, 2048, 2));
  EXPECT_EQ(manager().nodes.at({"a", 1}).memory, 8192);
  EXPECT_TRUE(std::ranges::any_of(said, [](const std::string& line) {
    return line.find("cannot read node annotations; total not sent") != std::string::npos &&
           line.find("originExtendedAllocatable") != std::string::npos;
  }));
}

TEST_F(YarnOperatorTest, RecordsAMismatchAsEventOfTheNode) {
  manager().nodes = {{{"n1", 45454}, {}}};
  node("n1", "old:1", origin("4k", "4Gi"));
  begin();
  Json events;
  for (int i = 0; i < 100 && (events.is_null() || events.member("items")->as_array().empty()); ++i) {
    pass(50ms);
    events = must("GET", "/api/v1/namespaces/default/events", Json());
  }
  ASSERT_FALSE(events.member("items")->as_array().empty());
  EXPECT_EQ(events.member("items")->as_array()[0].text_at("message"),
            "its annotation says old:1, but its ResourceManager reports n1:45454 there [TM-YARN-010]");
  EXPECT_EQ(manager().updates, 0);
}

}  // namespace
}  // namespace tidemark::yarn_operator
