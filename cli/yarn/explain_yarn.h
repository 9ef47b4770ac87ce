// `tidemark explain yarn NODE`: why YARN has what it has on a node, by the very functions that the operator decides by,
// and what its ResourceManager says of it now.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/sell/yarn_total.h"
#include "yarn_operator/clusters.h"
#include "yarn_operator/pool_modes.h"

namespace tidemark::cli {

struct ExplainYarnOptions {
  std::string node;
  std::string config_namespace = "koordinator-system";
  yarn_operator::ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
  policy::sell::YarnTotalConfig totals;
  std::vector<yarn_operator::YarnCluster> clusters;  // to read from; empty: none is configured
  net::WorkerPool* workers = nullptr;                // for their names
  bool json = false;
  base::Duration limit = std::chrono::seconds(30);
  std::size_t pods_shown = 20;
};

// The whole output. A ResourceManager that does not answer is a line of it.
net::Task<Result<std::string>> explain_yarn(net::EventLoop& loop, kube::Client& client, base::Random random,
                                            ExplainYarnOptions options);

}  // namespace tidemark::cli
