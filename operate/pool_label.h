// Puts nodes into a pool: sets the label tidemark.io/pool, which only people change. For the pool `default` it removes
// the label. The API server first says by a dry run which pool each node would be in; a node that would be in another
// one, because the nodeSelector of the pool wants other labels or an earlier pool takes it, is a problem, and then no
// node is changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"

namespace tidemark::operate {

// The pool that a person chose for the node.
inline constexpr std::string_view kPoolLabel = "tidemark.io/pool";

struct PoolLabelOptions {
  std::vector<std::string> nodes;
  std::string pool;
  bool dry_run = false;
  std::string config_namespace;
  manager::ZonesOf zones;
  base::Duration limit = std::chrono::seconds(20);  // for one answer of the API server
};

struct PoolOfNode {
  std::string name;
  std::string before, after;  // pools
  std::string problem;        // "" if it is in the wanted pool afterwards
};

// kNotFound: there is no such pool or node. kConflict: some node would be in another pool; nothing was written.
net::Task<Result<std::vector<PoolOfNode>>> label_pool(kube::Client& client, PoolLabelOptions options);

}  // namespace tidemark::operate
