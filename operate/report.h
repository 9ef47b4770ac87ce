// `tidemark report states`: the nodes that are on, observed, draining or off, with author, reason and end of the order.
// `tidemark report difference`: what a manager would tell each node to offer, beside what is in force on it, node by
// node and in sum. Found from the API server alone: it needs no manager, and writes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "manager/state/node_permit.h"
#include "model/reason.h"
#include "net/loop.h"
#include "policy/sell/overcommit/plugins.h"
#include "policy/state/overrides.h"

namespace tidemark::operate {

enum class ReportOf : std::uint8_t { kStates, kDifference };

struct ReportOptions {
  ReportOf about = ReportOf::kStates;
  std::string pool;  // only this one; empty: all
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  manager::ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
  policy::sell::PluginSet plugins;  // what the manager runs with
  base::Duration limit = std::chrono::seconds(30);
};

struct BatchAmounts {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const BatchAmounts&) const = default;
  BatchAmounts& operator+=(const BatchAmounts& other) {
    cpu_milli += other.cpu_milli;
    memory_bytes += other.memory_bytes;
    return *this;
  }
};
struct ReportedNode {
  std::string name;
  manager::NodePermit permit;
  BatchAmounts in_force;
  BatchAmounts wanted;
  model::Reason reason = model::Reason::kPublished;  // of what is wanted
  bool held = false;                                 // nothing can be decided: it stays
};

struct NodesReport {
  base::WallTime now;
  std::vector<ReportedNode> nodes;                    // by name
  std::optional<policy::state::Overrides> overrides;  // nullopt: cannot be read
  bool orders_known = true;                           // false: the orders for the cluster and its pools cannot be read
};

// Errors name what could not be read.
net::Task<Result<NodesReport>> report_nodes(net::EventLoop& loop, kube::Client& client, ReportOptions options);

}  // namespace tidemark::operate
