// Koordinator's command line as in its manifests (koordinator-sh/yarn-copilot: config/manager/yarn-operator.yaml and
// its Helm chart), and every flag of copilot contract 2.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/flags.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::yarn_operator {
namespace {

struct Read {
  OperatorOptions options;
  std::vector<std::string> without_effect;
  std::string problem;
};

Read read(const std::vector<std::string>& words) {
  Read read;
  base::Flags flags("tidemark yarn-operator", "");
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

TEST(YarnOperatorFlags, AcceptsKoordinatorManifestsUnchanged) {
  const Read manifest = read({"--enable-leader-election", "--metrics-addr=:8080", "--health-probe-addr=:8000",
                              "--logtostderr=true", "--leader-election-namespace=koordinator-system", "--v=4"});
  EXPECT_EQ(manifest.problem, "");
  EXPECT_EQ(manifest.without_effect, Words()) << "every flag must have its effect";
  EXPECT_TRUE(manifest.options.leader_elect);
  EXPECT_EQ(manifest.options.metrics_address, ":8080");
  EXPECT_EQ(manifest.options.health_address, ":8000");
  EXPECT_EQ(manifest.options.lease.ns, "koordinator-system");
  const Read chart = read({"--enable-leader-election", "--metrics-addr=:8080", "--logtostderr=true",
                           "--leader-election-namespace=koordinator-system", "--v=4", "--sync-period=10s"});
  EXPECT_EQ(chart.problem, "");
  EXPECT_EQ(chart.without_effect, Words());
}

TEST(YarnOperatorFlags, KnowsEveryKoordinatorFlag) {
  const Read all = read({"--namespace=", "--enable-pprof=false", "--pprof-addr=", "--sync-period=never",
                         "--rest-config-qps=20", "--rest-config-burst=40", "--controllers=*", "--skip_headers=false"});
  EXPECT_EQ(all.problem, "");
  EXPECT_EQ(all.without_effect, Words());
  EXPECT_EQ(all.options.queries_per_second, 20);
  EXPECT_EQ(all.options.query_burst, 40);
  EXPECT_EQ(read({"--controllers=yarnresource"}).problem, "");
}

TEST(YarnOperatorFlags, WarnsOfOrRejectsFlagsWithoutEffect) {
  EXPECT_EQ(read({"--namespace=web", "--enable-pprof", "--pprof-addr=:8090"}).without_effect,
            (Words{"--namespace has no effect: pods of all namespaces count: batch held in other namespaces must "
                   "not be sold",
                   "--enable-pprof has no effect: no profiles are served",
                   "--pprof-addr has no effect: no profiles are served"}));
  EXPECT_EQ(read({"--controllers=-yarnresource"}).problem,
            "--controllers: \"-yarnresource\" is not one of yarnresource, *; did you mean yarnresource?");
}

}  // namespace
}  // namespace tidemark::yarn_operator
