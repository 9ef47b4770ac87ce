// Profiles in a whole manager under simulated time: learned, stored, used for a pod that warms up, published.
#include "manager/profiles/profiles.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/testing/source_dir.h"
#include "manager/profiles/recommender.h"
#include "manager/testing/cluster.h"
#include "model/quantity.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;

constexpr std::string_view kTidemark = "schema: 1\nmode: enforce\nprofile: tidemark\n";
constexpr std::string_view kRecommendationsPath = "/apis/analysis.koordinator.sh/v1alpha1/recommendations";
constexpr std::string_view kShopRecommendations =
    "/apis/analysis.koordinator.sh/v1alpha1/namespaces/shop/recommendations";

TEST(Sampling, IsOncePerIntervalAtAnOffsetPerNode) {
  const auto report = [](std::string_view node, std::int64_t minute) {
    kube::NodeMetric metric;
    metric.meta.name = kube::Text::plain(node);
    metric.updated = base::WallTime{std::chrono::hours(24 * 20'000) + std::chrono::minutes(minute)};
    return metric;
  };
  EXPECT_FALSE(is_sampled(nullptr, kube::NodeMetric(), 5min)) << "it has no time";
  const auto first = report("n", 0);
  EXPECT_TRUE(is_sampled(nullptr, first, 5min));
  EXPECT_FALSE(is_sampled(&first, first, 5min));
  std::set<std::int64_t> moments;
  for (int n = 0; n < 40; ++n) {
    const std::string node = cat("node-", n);
    std::int64_t sampled = 0;
    for (std::int64_t minute = 1; minute <= 60; ++minute) {
      const auto before = report(node, minute - 1);
      if (!is_sampled(&before, report(node, minute), 5min)) continue;
      ++sampled;
      moments.insert(minute % 5);
    }
    EXPECT_EQ(sampled, 12) << node;
  }
  EXPECT_EQ(moments.size(), 5U) << "not all at once";
}

class ProfilesTest : public testing::InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    const Json crd = *base::parse_yaml(
        testing::read_file(base::testing::from_root("deploy/crds/analysis.koordinator.sh_recommendations.yaml")));
    must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    must("POST", "/api/v1/namespaces", name_only("shop"));
    settings(Json::object({{"enable", true}, {"cpuReclaimThresholdPercent", 100}}));
    node("n1");
  }
  void tidemark(std::string_view text) {
    const Json data = Json::object({{"config.yaml", Json(text)}});
    Json map = name_only("tidemark-config");
    map["data"] = data;
    if (call("POST", testing::kConfigPath, map).status == 409) {
      must("PATCH", cat(testing::kConfigPath, "/tidemark-config"), Json::object({{"data", data}}), testing::kMerge);
    }
  }
  // A pod of a Deployment of the shop.
  void pod(std::string_view name, std::string_view of = "web") {
    const auto container = [](std::string_view called, std::string_view cpu, std::string_view memory) {
      return Json::object(
          {{"name", Json(called)},
           {"image", "none"},
           {"resources", Json::object({{"requests", Json::object({{"cpu", Json(cpu)}, {"memory", Json(memory)}})}})}});
    };
    Json owner = Json::object({{"apiVersion", "apps/v1"},
                               {"kind", "ReplicaSet"},
                               {"name", Json(cat(of, "-7d9c"))},
                               {"uid", "1"},
                               {"controller", true}});
    Json object = name_only(name);
    object["metadata"]["labels"] = Json::object({{"pod-template-hash", "7d9c"}});
    object["metadata"]["ownerReferences"] = Json::array({std::move(owner)});
    object["spec"] =
        Json::object({{"nodeName", "n1"},
                      {"containers", Json::array({container("main", "6", "6Gi"), container("proxy", "2", "2Gi")})}});
    must("POST", "/api/v1/namespaces/shop/pods", object);
    must("PATCH", cat("/api/v1/namespaces/shop/pods/", name, "/status"),
         Json::object({{"status", Json::object({{"phase", "Running"},
                                                {"startTime", Json(base::format_rfc3339(clock.wall()))}})}}),
         testing::kMerge);
  }
  // The system uses nothing; each pod of the shop so many cores and 1 GiB.
  void report(std::initializer_list<std::pair<std::string_view, std::string_view>> uses) {
    Json object = name_only("n1");
    call("POST", testing::kNodeMetricsPath, object);
    Json pods = Json::array();
    for (const auto& [name, cores] : uses) {
      pods.as_array().push_back(Json::object(
          {{"name", Json(name)},
           {"namespace", "shop"},
           {"priority", "koord-prod"},
           {"qos", "LS"},
           {"podUsage", Json::object({{"resources", Json::object({{"cpu", Json(cores)}, {"memory", "1Gi"}})}})}}));
    }
    const Json used = Json::object({{"resources", Json::object({{"cpu", "0"}, {"memory", "0"}})}});
    must("PATCH", cat(testing::kNodeMetricsPath, "/n1/status"),
         Json::object(
             {{"status", Json::object({{"updateTime", Json(base::format_rfc3339(clock.wall()))},
                                       {"nodeMetric", Json::object({{"nodeUsage", used}, {"systemUsage", used}})},
                                       {"podsMetric", std::move(pods)}})}}),
         testing::kMerge);
  }
  void report_for(base::Duration time, std::initializer_list<std::pair<std::string_view, std::string_view>> uses) {
    for (base::Duration done{0}; done < time; done += 1min) {
      report(uses);
      run_for(1min);
    }
  }
  std::int64_t offered_cpu() {
    const auto quantity = model::Quantity::parse(offered("n1"));
    return quantity ? quantity->scaled_value_saturated(0) : -1;
  }
};

TEST_F(ProfilesTest, YoungPodCountsWithRequestThenWithProfile) {
  tidemark(kTidemark);
  auto& one = start();
  pod("web-1");
  report_for(3min, {{"web-1", "1"}});
  EXPECT_LE(offered_cpu(), 32000 - 8000) << "nothing is known of its workload";
  // Long enough for the hour after the next, in which it is busy, to be known of two days.
  report_for(25h, {{"web-1", "3"}});
  EXPECT_GT(one.metric("tidemark_profile_samples_total"), 200);
  EXPECT_EQ(one.metric("tidemark_profile_workloads"), 1);
  EXPECT_GE(offered_cpu(), 32000 - 3500) << "it is warm; what is less than the dead band is not written";
  EXPECT_LE(offered_cpu(), 32000 - 3000);

  // Another one starts, and does nothing yet.
  pod("web-2");
  report_for(1min, {{"web-1", "3"}, {"web-2", "0.1"}});
  EXPECT_LE(offered_cpu(), 32000 - 3000 - 7000) << "a tenth of the way down from its request";
  report_for(8min, {{"web-1", "3"}, {"web-2", "0.1"}});
  EXPECT_LE(offered_cpu(), 32000 - 3000 - 3000) << "what its workload uses at this hour";
  EXPECT_GE(offered_cpu(), 32000 - 3000 - 6500) << "on its way down from its request";
  report_for(20min, {{"web-1", "3"}, {"web-2", "0.1"}});
  EXPECT_GE(offered_cpu(), 32000 - 3000 - 1000) << "it is warm";
}

TEST_F(ProfilesTest, KoordinatorProfileCountsAYoungPodLikeKoordinator) {
  tidemark("schema: 1\nmode: enforce\n");
  start();
  pod("web-1");
  report_for(2min, {{"web-1", "1"}});
  EXPECT_EQ(offered_cpu(), 31000);
}

TEST_F(ProfilesTest, ProfilesSurviveARestart) {
  tidemark(kTidemark);
  start();
  pod("web-1");
  report_for(30min, {{"web-1", "3"}});
  replicas.clear();
  auto& again = start("two");
  run_for(1min);
  EXPECT_EQ(again.metric("tidemark_history_records{component=\"profiles\"}"), 1);
  pod("web-2");
  report_for(9min, {{"web-1", "3"}, {"web-2", "0.1"}});
  EXPECT_GE(offered_cpu(), 32000 - 3000 - 6500) << "not its request: the workload is known";
}

TEST_F(ProfilesTest, StoresNothingWithoutTidemarkConfig) {
  start();
  pod("web-1");
  report_for(30min, {{"web-1", "3"}});
  EXPECT_EQ(call("GET", cat(testing::kConfigPath, "/", history_map_name(kProfileKind, 0)), nullptr).status, 404);
  EXPECT_EQ(must("GET", kRecommendationsPath, nullptr)["items"].as_array().size(), 0U);
}

TEST_F(ProfilesTest, CreatesRepairsAndDeletesRecommendations) {
  const std::string publish =
      cat(kTidemark, "profiles: {recommendations: {publish: true, knownHours: 2, marginPercent: 0, every: 1m}}\n");
  tidemark(publish);
  auto& one = start();
  pod("web-1");
  report_for(30min, {{"web-1", "4"}});
  EXPECT_EQ(call("GET", cat(kShopRecommendations, "/deployment-web"), nullptr).status, 404) << "too little is known";
  report_for(3h, {{"web-1", "4"}});
  const Json made = must("GET", cat(kShopRecommendations, "/deployment-web"), nullptr);
  EXPECT_EQ(made.text_at("spec", "target", "type"), "workload");
  EXPECT_EQ(made.text_at("spec", "target", "workload", "kind"), "Deployment");
  EXPECT_EQ(made.text_at("spec", "target", "workload", "name"), "web");
  EXPECT_EQ(made.text_at("spec", "target", "workload", "apiVersion"), "apps/v1");
  EXPECT_EQ(made.text_at("metadata", "labels", "app.kubernetes.io/managed-by"), "tidemark-manager");
  const Json* status = made.member("status");
  ASSERT_NE(status, nullptr);
  const auto containers = read_recommendation(made)->told.containers;
  ASSERT_EQ(containers.size(), 2U);
  EXPECT_EQ(containers[0].name, "main");
  const std::int64_t cpu = containers[0].request.cpu.value + containers[1].request.cpu.value;
  EXPECT_GE(cpu, 4000);
  EXPECT_LE(cpu, 4240);
  EXPECT_NEAR(containers[0].request.cpu.value, cpu * 3 / 4, 1) << "as they request";
  EXPECT_FALSE(status->text_at("updateTime").empty());

  // Nothing changes: nothing is written.
  const double writes = one.metric("tidemark_recommendation_writes_total{reason=\"TM-RECOMMEND-001\"}");
  const std::string revision(made.text_at("metadata", "resourceVersion"));
  report_for(2h, {{"web-1", "4.1"}});
  EXPECT_EQ(must("GET", cat(kShopRecommendations, "/deployment-web"), nullptr).text_at("metadata", "resourceVersion"),
            revision);
  EXPECT_EQ(one.metric("tidemark_recommendation_writes_total{reason=\"TM-RECOMMEND-001\"}"), writes);
  report_for(1h, {{"web-1", "7"}});
  const auto more = read_recommendation(must("GET", cat(kShopRecommendations, "/deployment-web"), nullptr));
  EXPECT_GE(more->told.containers[0].request.cpu.value + more->told.containers[1].request.cpu.value, 7000);

  // A week without a pod of it.
  must("DELETE", "/api/v1/namespaces/shop/pods/web-1?gracePeriodSeconds=0", nullptr);
  report({});
  run_for(24h);
  EXPECT_EQ(call("GET", cat(kShopRecommendations, "/deployment-web"), nullptr).status, 200)
      << "perhaps only scaled down";
  run_for(24h * 7);
  EXPECT_EQ(call("GET", cat(kShopRecommendations, "/deployment-web"), nullptr).status, 404);
}

// The store keeps the most useful profiles alone: after a restart a workload that runs may have none.
TEST_F(ProfilesTest, RunningWorkloadKeepsAStaleRecommendation) {
  tidemark(cat(kTidemark, "profiles: {recommendations: {publish: true, knownHours: 2, every: 1m}}\n"));
  start();
  pod("web-1");
  pod("api-1", "api");
  report_for(3h, {{"web-1", "4"}, {"api-1", "2"}});
  const auto object = [&](std::string_view name) {
    return must("GET", cat(kShopRecommendations, "/deployment-", name), nullptr);
  };
  const Json made = object("web");
  ASSERT_FALSE(read_recommendation(made)->old);
  ASSERT_EQ(call("GET", cat(kShopRecommendations, "/deployment-api"), nullptr).status, 200);

  replicas.clear();
  must("DELETE", "/api/v1/namespaces/shop/pods/api-1?gracePeriodSeconds=0", nullptr);
  for (std::size_t shard = 0; shard < 8; ++shard) {
    call("DELETE", cat(testing::kConfigPath, "/", history_map_name(kProfileKind, shard)), nullptr);
  }
  auto& again = start("two");
  report_for(5min, {{"web-1", "4"}});
  EXPECT_EQ(call("GET", cat(kShopRecommendations, "/deployment-api"), nullptr).status, 404) << "nothing runs of it";
  const Json old = object("web");
  EXPECT_TRUE(read_recommendation(old)->old);
  EXPECT_EQ(read_recommendation(old)->told, read_recommendation(made)->told);
  EXPECT_EQ(old.text_at("status", "updateTime"), made.text_at("status", "updateTime"));
  EXPECT_EQ(again.metric("tidemark_recommendations_old"), 1);
  const std::string revision(old.text_at("metadata", "resourceVersion"));
  report_for(10min, {{"web-1", "4"}});
  EXPECT_EQ(object("web").text_at("metadata", "resourceVersion"), revision) << "said once";
  report_for(3h, {{"web-1", "4"}});
  EXPECT_FALSE(read_recommendation(object("web"))->old) << "it is known again";
  EXPECT_EQ(again.metric("tidemark_recommendations_old"), 0);
}

TEST_F(ProfilesTest, DisablingDeletesOnlyOwnRecommendations) {
  const std::string publish =
      cat(kTidemark, "profiles: {recommendations: {publish: true, knownHours: 1, every: 1m}}\n");
  tidemark(publish);
  Json foreign = recommendation_object({"shop", "Deployment", "api"});
  foreign["metadata"]["labels"] = Json::object({{"app.kubernetes.io/managed-by", "somebody"}});
  must("POST", kShopRecommendations, foreign);
  Json same_name = recommendation_object({"shop", "Deployment", "web"});
  same_name["metadata"]["labels"] = Json::object();
  const std::string revision(must("POST", kShopRecommendations, same_name).text_at("metadata", "resourceVersion"));
  auto& one = start();
  pod("web-1");
  report_for(1h, {{"web-1", "4"}});
  EXPECT_EQ(must("GET", cat(kShopRecommendations, "/deployment-web"), nullptr).text_at("metadata", "resourceVersion"),
            revision)
      << "of the right name, and not ours";
  EXPECT_EQ(one.metric("tidemark_recommendations_foreign"), 1);
  must("DELETE", cat(kShopRecommendations, "/deployment-web"), nullptr);
  report_for(5min, {{"web-1", "4"}});
  EXPECT_EQ(must("GET", kRecommendationsPath, nullptr)["items"].as_array().size(), 2U);
  tidemark(kTidemark);
  run_for(5min);
  const Json left = must("GET", kRecommendationsPath, nullptr);
  ASSERT_EQ(left.member("items")->as_array().size(), 1U);
  EXPECT_EQ(left.member("items")->as_array()[0].text_at("metadata", "name"), "deployment-api");
}

TEST_F(ProfilesTest, DeletesLeftoverRecommendationsIfDisabled) {
  tidemark(kTidemark);
  Json ours = recommendation_object({"shop", "Deployment", "web"});
  must("POST", kShopRecommendations, ours);
  Json foreign = recommendation_object({"shop", "Deployment", "api"});
  foreign["metadata"]["labels"] = Json::object();
  must("POST", kShopRecommendations, foreign);
  auto& one = start();
  run_for(2min);
  const Json left = must("GET", kRecommendationsPath, nullptr);
  ASSERT_EQ(left.member("items")->as_array().size(), 1U);
  EXPECT_EQ(left.member("items")->as_array()[0].text_at("metadata", "name"), "deployment-api");
  EXPECT_EQ(one.metric("tidemark_recommendation_errors_total"), 0);
}

TEST_F(ProfilesTest, RecommendationsOfOtherOwnersDoNotDelayTheRest) {
  ProfileBook book;
  for (const char* name : {"api", "db", "web"}) {
    pod(cat(name, "-1"), name);
    for (int hour = 3; hour >= 0; --hour) {
      book.add(cat("shop/Deployment/", name), {{4000}, {1 << 30}}, clock.wall() + -std::chrono::hours(hour));
    }
    if (std::string_view(name) == "web") continue;
    Json foreign = recommendation_object({"shop", "Deployment", name});
    foreign["metadata"]["labels"] = Json::object();
    must("POST", kShopRecommendations, foreign);
  }
  kube::memory::LocalTransport transport(loop, server->handler(), "one");
  kube::Client client(loop, transport, [] { return std::string(); }, {}, base::Random(1));
  base::Registry metrics;
  kube::Interner interner;
  kube::InformerConfig config;
  config.resource = kube::kPods;
  kube::Informer<PodProjection> pods({loop, client, client, log, metrics, base::Random(2)}, config,
                                     [&](std::string_view bytes) { return decode_pod_projection(bytes, interner); });
  policy::waterline::ProfileSettings settings;
  settings.learn = true;
  settings.recommendations.publish = true;
  settings.recommendations.known_hours = 1;
  settings.recommendations.every = 1min;
  net::Scope scope(loop);
  scope.spawn(pods.run());
  run_for(1s);
  kube::EventRecorder recorder(loop, client, log, metrics, "test");
  Recommender recommender({loop, client, client, client, recorder, interner, log, metrics},
                          {.leading = [] { return true; },
                           .pods = pods,
                           .book = book,
                           .all_read = [] { return true; },
                           .settings = [&]() -> const policy::waterline::ProfileSettings& { return settings; },
                           .write_limit = 4s,
                           .writes_max = 1});
  recommender.start();
  run_for(3min);
  EXPECT_EQ(call("GET", cat(kShopRecommendations, "/deployment-web"), nullptr).status, 200) << "one a round";
}

}  // namespace
}  // namespace tidemark::manager
