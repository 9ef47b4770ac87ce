// Where the water line of a pool lies, now and later: its base line, calendar and overrides, by the settings and orders
// that the API server has now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "net/task.h"
#include "operate/manifests.h"
#include "policy/state/overrides.h"
#include "policy/waterline/calendar/calendar.h"
#include "policy/waterline/calendar/preview.h"
#include "policy/waterline/pools.h"

namespace tidemark::operate {

struct PoolQuestion {
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  manager::ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
  base::Duration limit = std::chrono::seconds(30);  // for one answer of the API server
};

struct PoolLine {
  std::string pool;
  policy::waterline::TidemarkConfig config;
  std::size_t nodes = 0;
  // The thresholds of most of its nodes; of no nodes those of the cluster.
  std::int64_t base_cpu = 0;
  std::int64_t base_memory = 0;
  std::size_t other_base = 0;  // nodes whose own settings say something else
  policy::state::Overrides overrides;

  const model::Pool& settings() const;
  const policy::waterline::Calendar& calendar() const;  // one without entries where the pool has none
  model::LinePlan at(base::WallTime now) const;
};

// kNotFound where there is no such pool, with the nearest one. What `file` has of the settings stands for the
// cluster's.
net::Task<Result<PoolLine>> read_pool_line(kube::Client& client, PoolQuestion question, std::string pool,
                                           std::optional<Manifests> file = std::nullopt);

}  // namespace tidemark::operate
