// The pools of the cluster, as the ConfigMap `tidemark-config` has them now, or as the settings in force have them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "manager/settings/revision.h"
#include "manager/state/desired_store.h"
#include "policy/state/overrides.h"
#include "policy/waterline/pools.h"

namespace tidemark::operate {

// Without a tidemark-config there is one pool, `default`. One that cannot be read is an error that says why.
net::Task<Result<policy::waterline::TidemarkConfig>> read_pools(kube::Reader& reader, std::string config_namespace,
                                                                manager::ZonesOf zones, base::Duration limit);

// Those that managers go by, of the revisions that they store.
struct PoolsInForce {
  policy::waterline::TidemarkConfig config;
  std::string revision;  // as people name it: its number and hash
};
// The newest in force that have the pool: while a roll-out is under way there are several. nullopt: none has, or the
// revisions cannot be read.
net::Task<std::optional<PoolsInForce>> pools_in_force(kube::Client& client, std::string config_namespace,
                                                      manager::ZonesOf zones, std::string pool, base::Duration limit);

// The overrides of the water line that are stored; none where nothing is.
Result<policy::state::Overrides> overrides_in(const manager::StoredText& stored);

// kNotFound with the pools that there are, and the nearest one.
Result<void> pool_exists(const policy::waterline::TidemarkConfig& config, std::string_view pool);

bool in_pool(const policy::waterline::TidemarkConfig& config, const kube::Node& node, std::string_view pool);

}  // namespace tidemark::operate
