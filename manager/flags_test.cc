// The peer's command lines, as its manifests have them (Koordinator's config/manager/manager.yaml and its Helm chart).
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/limits.h"
#include "manager/manager.h"
#include "manager/peer_flags.h"
#include "model/strategy.h"

namespace tidemark::manager {
namespace {

struct Read {
  ManagerOptions options;
  std::vector<std::string> without_effect;
  std::string problem;
};

Read read(const std::vector<std::string>& words) {
  Read read;
  base::Flags flags("tidemark manager", "");
  base::PeerFlags peer(peer_flags());
  declare_flags(flags, read.options);
  peer.declare(flags);
  const auto parsed = flags.parse(
      words, [](std::string_view) { return std::optional<std::string>(); },
      [](std::string_view) -> Result<std::string> { return std::string(); });
  if (parsed) {
    read.without_effect = peer.without_effect(*parsed);
  } else {
    read.problem = parsed.error().message;
  }
  return read;
}

using Words = std::vector<std::string>;

TEST(ManagerFlags, AcceptsTheManifestOfKoordinator) {
  const Read manifest = read({"--enable-leader-election", "--metrics-addr=:8080", "--health-probe-addr=:8000",
                              "--logtostderr=true", "--leader-election-namespace=koordinator-system",
                              "--config-namespace=koordinator-system", "--v=4", "--feature-gates=", "--sync-period=0"});
  EXPECT_EQ(manifest.problem, "");
  EXPECT_EQ(manifest.without_effect, Words()) << "and what it asks for is what happens";
  EXPECT_TRUE(manifest.options.leader_elect);
  EXPECT_EQ(manifest.options.metrics_address, ":8080");
  EXPECT_EQ(manifest.options.health_address, ":8000");
  EXPECT_EQ(manifest.options.sync_period, base::Duration(0));
}

TEST(ManagerFlags, KnowsEveryFlagOfKoordinator) {
  const Read all = read({"--metrics-addr=:1",
                         "--health-probe-addr=:2",
                         "--enable-leader-election=false",
                         "--leader-election-namespace=a",
                         "--leader-elect-resource-lock=leases",
                         "--namespace=",
                         "--enable-pprof=false",
                         "--pprof-addr=",
                         "--sync-period=10h",
                         "--rest-config-qps=20",
                         "--rest-config-burst=40",
                         "--controllers=*,-nodeslo",
                         "--noderesource-plugins=*,-MidResource",
                         "--slo-config-name=b",
                         "--config-namespace=c",
                         "--node-strategy-name-need-check=false",
                         "--gpu-shared-node-selector=",
                         "--feature-gates=ConfigMapValidatingWebhook=true",
                         "--stderrthreshold=INFO",
                         "-v=2",
                         "--vmodule=",
                         "--alsologtostderr",
                         "--skip_headers=false"});
  EXPECT_EQ(all.problem, "");
  EXPECT_EQ(all.without_effect, Words());
  EXPECT_EQ(all.options.sync_period, std::chrono::hours(10));
  EXPECT_EQ(all.options.queries_per_second, 20);
  EXPECT_EQ(all.options.query_burst, 40);
  EXPECT_FALSE(all.options.controllers.node_slo);
  EXPECT_FALSE(all.options.plugins.mid_resource);
  EXPECT_TRUE(all.options.plugins.batch_resource);
  EXPECT_EQ(all.options.config_name, "b");
  EXPECT_EQ(all.options.config_namespace, "c");
  EXPECT_EQ(all.options.lease.ns, "a");
  EXPECT_TRUE(all.options.feature_gates.enabled("ConfigMapValidatingWebhook"));
}

// 10,000 nodes at rest: each is written once in updateTimeThresholdSeconds. An edit of all NodeSLOs: two writes a node.
TEST(ManagerFlags, DefaultRequestRateFitsTenThousandNodes) {
  constexpr int kNodes = 10'000;
  const ManagerOptions options;
  const auto refresh = std::chrono::seconds(model::ColocationStrategy().update_time_threshold_s);
  base::TokenBucket budget(options.queries_per_second, options.query_burst);
  base::MonotonicTime now{std::chrono::hours(1)};
  for (int i = 0; i < 2 * kNodes; ++i) {
    EXPECT_TRUE(budget.try_take(now)) << "write " << i << " waits";
    now = now + base::Duration(refresh) / kNodes;
  }
  std::optional<base::Duration> last;
  for (int i = 0; i < 2 * kNodes; ++i) last = budget.reserve(now, std::chrono::hours(1));
  ASSERT_TRUE(last);
  EXPECT_LE(*last, std::chrono::seconds(10)) << "an edit reaches all nodes";
}

TEST(ManagerFlags, ReportsUnsupportedRequests) {
  const Read read_words =
      read({"--namespace=web", "--enable-pprof", "--log_dir=/var/log", "--quota-update-max-retries=10"});
  EXPECT_EQ(read_words.problem, "");
  EXPECT_EQ(read_words.without_effect,
            (Words{"--namespace has no effect: pods of all namespaces are followed: what pods of another one use must "
                   "not be sold",
                   "--enable-pprof has no effect: no profiles are served",
                   "--quota-update-max-retries has no effect: quotas are not here",
                   "--log_dir has no effect: the log goes to standard error; see --log-level and --log-format"}));
}

TEST(ManagerFlags, RefusesOtherLockKinds) {
  EXPECT_EQ(read({"--leader-elect-resource-lock=configmaps"}).problem,
            "--leader-elect-resource-lock: \"configmaps\" is not one of leases");
}

}  // namespace
}  // namespace tidemark::manager
