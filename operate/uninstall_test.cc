// `tidemark uninstall` against the API server in memory.
#include "operate/uninstall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/testing/source_dir.h"
#include "base/text.h"
#include "base/yaml.h"
#include "operate/testing/orders.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kLeasePath = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases";

constexpr std::string_view kPods = "/api/v1/namespaces/koordinator-system/pods";
constexpr std::string_view kTopology = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies/n1";
// Path and name, as the manager makes them.
struct Made {
  std::string_view path, name, type = "";
};
constexpr Made kObjects[] = {{"/apis/slo.koordinator.sh/v1alpha1/nodeslos", "n1",
                              R"("apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO",)"},
                             {"/apis/slo.koordinator.sh/v1alpha1/nodemetrics", "n1",
                              R"("apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric",)"},
                             {kLeasePath, "koordinator-manager"},
                             {"/api/v1/namespaces/koordinator-system/secrets", "koordinator-webhook-certs"}};

class UninstallTest : public testing::Orders {
 protected:
  void SetUp() override {
    for (const char* kind : {"slo.koordinator.sh_nodeslos", "slo.koordinator.sh_nodemetrics",
                             "topology.node.k8s.io_noderesourcetopologies"}) {
      std::ifstream file(base::testing::from_root(base::cat("deploy/crds/", kind, ".yaml")));
      const std::string text(std::istreambuf_iterator<char>(file), {});
      call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", base::parse_yaml(text)->dump());
    }
  }
  void objects() {
    for (const auto& [path, name, type] : kObjects) {
      call("POST", std::string(path), base::cat("{", type, R"("metadata":{"name":")", name, R"("},"spec":{}})"));
    }
    call("POST", std::string(kPods),
         R"({"metadata":{"name":"p","annotations":{"x":"y","tidemark.io/profiles":"a"}},)"
         R"("spec":{"containers":[{"name":"c","image":"i"}]}})");
  }
  void topology() {
    const auto amount = [](std::string_view name) {
      return base::cat(R"({"name":")", name, R"(","capacity":"1","allocatable":"1","available":"1"})");
    };
    call("POST", std::string(kTopology.substr(0, kTopology.rfind('/'))),
         base::cat(
             R"({"apiVersion":"topology.node.k8s.io/v1alpha1","kind":"NodeResourceTopology","metadata":{"name":"n1",)",
             R"("annotations":{"x":"y","tidemark.io/capacity-epoch":"3"}},"topologyPolicies":["None"],"zones":[)",
             R"({"name":"node-0","type":"Node","resources":[)", amount("cpu"), ",", amount("kubernetes.io/batch-cpu"),
             ",", amount("kubernetes.io/batch-memory"), R"(]},{"name":"node-1","type":"Node"}]})"));
  }
  Result<UninstallReport> run(UninstallOptions options = {}) {
    return net::testing::run_task(loop, clock, uninstall(loop, client, options));
  }
  void conditions(const std::string& name, std::string_view reason, std::string_view message) {
    call("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         base::cat(R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"TidemarkCoLocation",)",
                   R"("status":"False","reason":"Off"},{"type":"TidemarkIsolation","status":"True","reason":")", reason,
                   R"(","message":")", message, R"("}]}})"));
  }
  void lease(std::string_view name, std::string_view holder, std::string_view annotated_by = "") {
    ask("DELETE", base::cat(kLeasePath, "/", name));
    call("POST", std::string(kLeasePath),
         base::cat(R"({"metadata":{"name":")", name, R"(","annotations":{"tidemark.io/annotated-by":")", annotated_by,
                   R"("}},"spec":{"holderIdentity":")", holder, R"(","renewTime":")",
                   base::format_rfc3339_micro(clock.wall()), R"("}})"));
  }
  void pod(std::string_view name, std::string_view meta, std::string_view phase) {
    call("POST", std::string(kPods),
         base::cat(R"({"metadata":{"name":")", name, "\",", meta,
                   R"(},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}})"));
    call("PATCH", base::cat(kPods, "/", name, "/status"), base::cat(R"({"status":{"phase":")", phase, R"("}})"));
  }
  void order_off() {
    live("schema: 1\nmode: enforce\n");
    ASSERT_TRUE(give(order(policy::state::Wish::kOff)));
  }
  static bool of_ours(const Json& node) {
    const std::string text = node.dump();
    return text.contains("tidemark.io/state") || text.contains("TidemarkCoLocation") || text.contains("batch-cpu");
  }
};

TEST_F(UninstallTest, RemovesWhatTidemarkWroteAndKeepsTheRest) {
  node("n1",
       R"("labels":{"zone":"a","tidemark.io/pool":"web"},"annotations":{"x":"y","tidemark.io/ended-tasks":"{}"})");
  call(
      "PATCH", "/api/v1/nodes/n1",
      R"({"spec":{"taints":[{"key":"tidemark.io/oversold","effect":"NoSchedule"},{"key":"mine","effect":"NoSchedule"}]}})");
  conditions("n1", "Off", "cpuSuppress: off");
  order_off();
  const auto report = run();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->complete());
  const Json after = read("n1");
  EXPECT_FALSE(of_ours(after)) << after.dump();
  EXPECT_EQ(after.text_at("metadata", "labels", "tidemark.io/pool"), "web") << "of the user";
  EXPECT_EQ(after.text_at("metadata", "annotations", "x"), "y");
  EXPECT_EQ(after.at("metadata", "annotations", "tidemark.io/ended-tasks"), nullptr);
  ASSERT_EQ(after.at("spec", "taints")->as_array().size(), 1u);
  EXPECT_EQ(after.at("status", "conditions")->as_array().size(), 1u) << "that of the kubelet";
  EXPECT_EQ(after.text_at("status", "capacity", "cpu"), "32");
  for (const char* map : {"tidemark-config", "tidemark-state"}) {
    EXPECT_EQ(ask("GET", base::cat(testing::kMaps, "/", map)).status, 404) << map;
  }
  const auto again = run();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->kinds.empty()) << "nothing is left";
}

TEST_F(UninstallTest, RemovesOfferAndRatiosOfNodesAndZones) {
  node("n1", R"("annotations":{"x":"y","node.koordinator.sh/originExtendedAllocatable":"{}",)"
             R"("node.koordinator.sh/cpu-normalization-ratio":"1.25","node.koordinator.sh/raw-allocatable":"{}",)"
             R"("node.koordinator.sh/resource-amplification-ratio":"{}"})");
  topology();
  const auto report = run();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->complete());
  const Json after = read("n1");
  EXPECT_EQ(after.at("metadata", "annotations")->dump(), R"({"x":"y","node.koordinator.sh/raw-allocatable":"{}"})")
      << "Koordinator's webhook wrote that one";
  for (const char* list : {"capacity", "allocatable"}) {
    EXPECT_EQ(after.at("status", list)->as_object().size(), 2u) << after.dump();
  }
  const Json zones = call("GET", std::string(kTopology));
  EXPECT_EQ(zones.at("zones")->as_array().size(), 2u);
  EXPECT_TRUE(zones.at("zones")->dump().contains(R"("name":"cpu")")) << zones.dump();
  EXPECT_FALSE(zones.at("zones")->dump().contains("batch")) << zones.dump();
  EXPECT_EQ(zones.at("metadata", "annotations")->dump(), R"({"x":"y"})");
  EXPECT_TRUE(run()->kinds.empty());
}

TEST_F(UninstallTest, RemovesObjectsOfTheManagerAndMarksOfPods) {
  objects();
  const auto report = run();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->complete());
  for (const auto& [path, name, type] : kObjects) {
    EXPECT_EQ(ask("GET", base::cat(path, "/", name)).status, 404) << name;
  }
  EXPECT_EQ(call("GET", base::cat(kPods, "/p")).at("metadata", "annotations")->dump(), R"({"x":"y"})");
  EXPECT_TRUE(run()->kinds.empty());
  EXPECT_TRUE(std::ranges::any_of(report->left, [](const std::string& each) { return each.contains("leaseName"); }));
}

TEST_F(UninstallTest, ADryRunWritesNothing) {
  node("n1");
  order_off();
  const auto report = run({.dry_run = true});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->kinds.size(), 2u) << "Node and ConfigMap";
  EXPECT_TRUE(of_ours(read("n1")));
  EXPECT_EQ(ask("GET", base::cat(testing::kMaps, "/tidemark-state")).status, 200);
}

TEST_F(UninstallTest, KeepsWhatKoordinatorUses) {
  node("n1");
  order_off();
  call("PATCH", "/api/v1/nodes/n1/status", R"({"status":{"capacity":{"kubernetes.io/batch-cpu":"8000"}}})");
  topology();
  objects();
  ASSERT_TRUE(run({.keep_shared = true}));
  for (const auto& [path, name, type] : kObjects) EXPECT_EQ(ask("GET", base::cat(path, "/", name)).status, 200) << name;
  EXPECT_TRUE(call("GET", std::string(kTopology)).at("zones")->dump().contains("batch-cpu"));
  EXPECT_EQ(call("GET", std::string(kTopology)).at("metadata", "annotations")->dump(), R"({"x":"y"})");
  const Json after = read("n1");
  EXPECT_EQ(after.text_at("status", "capacity", "kubernetes.io/batch-cpu"), "8k");
  EXPECT_EQ(after.at("metadata", "labels", "tidemark.io/state"), nullptr);
}

TEST_F(UninstallTest, NamesNodesWithKernelFilesInForce) {
  node("n1");
  conditions("n1", "Off", "cpuSuppress: off (2 files)");
  const auto report = run();
  ASSERT_TRUE(report);
  ASSERT_FALSE(report->left.empty());
  EXPECT_TRUE(report->left[0].starts_with("node n1: ")) << report->left[0];
  EXPECT_TRUE(read("n1").dump().contains("TidemarkIsolation")) << "all that is known of the files";
}

TEST_F(UninstallTest, RefusesWhileAManagerLeads) {
  node("n1");
  order_off();
  lease("koordinator-manager", "tidemark-manager-1");
  const auto report = run();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(of_ours(read("n1")));
  clock.advance(3min);
  EXPECT_TRUE(run()) << "nothing renews the lease any more";
}

TEST_F(UninstallTest, RefusesWhileALeaseOfAnotherNameIsHeld) {
  lease("own-name", "prod-tidemark-manager-7d_1", "prod-tidemark-manager-7d_1");
  const auto report = run();
  ASSERT_FALSE(report);
  EXPECT_TRUE(report.error().message.starts_with("lease own-name is held by prod-tidemark-manager-7d_1"))
      << report.error().message;
}

TEST_F(UninstallTest, KeepSharedRefusesWhileOurProgramHoldsTheLeaseUnderAnotherHostName) {
  lease("koordinator-manager", "koord-manager-5c_1", "koord-manager-5c_1");
  EXPECT_FALSE(run({.keep_shared = true}));
  lease("koordinator-manager", "koord-manager-5c_2", "koord-manager-5c_1");
  EXPECT_TRUE(run({.keep_shared = true})) << "Koordinator's manager holds it now, with our old annotation";
}

TEST_F(UninstallTest, RefusesWhilePodsOfTidemarkRun) {
  node("n1");
  order_off();
  pod("tidemark-agent-x", R"("labels":{"app.kubernetes.io/name":"tidemark"})", "Running");
  pod("tidemark-agent-off-y", R"("labels":{"app.kubernetes.io/name":"tidemark"})", "Succeeded");
  const auto report = run();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kDenied);
  EXPECT_TRUE(report.error().message.contains("koordinator-system: tidemark-agent-x. ")) << report.error().message;
  EXPECT_TRUE(of_ours(read("n1")));
  call("DELETE", base::cat(kPods, "/tidemark-agent-x?gracePeriodSeconds=0"));
  EXPECT_TRUE(run());
}

TEST_F(UninstallTest, ReleasesSparkDriversThatHaveEndedAndNamesTheOthers) {
  const std::string finalizers = R"("finalizers":["x/y","tidemark.io/end-is-read"])";
  pod("ended", base::cat(finalizers, R"(,"annotations":{"tidemark.io/profiles":"a"})"), "Succeeded");
  pod("terminating", R"("finalizers":["tidemark.io/end-is-read"])", "Running");
  pod("runs", finalizers, "Running");
  call("DELETE", base::cat(kPods, "/terminating?gracePeriodSeconds=0"));
  EXPECT_EQ(ask("GET", base::cat(kPods, "/terminating")).status, 200) << "the finalizer holds it";
  const auto report = run();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->complete());
  EXPECT_EQ(ask("GET", base::cat(kPods, "/terminating")).status, 404);
  const Json ended = call("GET", base::cat(kPods, "/ended"));
  EXPECT_EQ(ended.at("metadata", "finalizers")->dump(), R"(["x/y"])");
  EXPECT_FALSE(ended.dump().contains("tidemark.io/profiles"));
  EXPECT_EQ(call("GET", base::cat(kPods, "/runs")).at("metadata", "finalizers")->as_array().size(), 2u);
  EXPECT_TRUE(report->left[0].starts_with("pod koordinator-system/runs: ")) << report->left[0];
}

}  // namespace
}  // namespace tidemark::operate
