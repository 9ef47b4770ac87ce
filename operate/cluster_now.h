// The cluster as it is now, read once and whole, for commands that decide about all its nodes as a manager would.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/pod_projection.h"
#include "manager/evictions/budget_store.h"
#include "manager/settings/effective.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "policy/sell/overcommit/plugins.h"
#include "policy/state/desired.h"
#include "policy/state/overrides.h"

namespace tidemark::operate {

// All objects of a cluster that decisions read: one field for each kind.
struct ClusterNow {
  ClusterNow() = default;
  ClusterNow(const ClusterNow&) = delete;  // parts of it point into others
  ClusterNow& operator=(const ClusterNow&) = delete;

  kube::Interner interner;
  std::vector<kube::Node> nodes;
  std::map<std::string, kube::NodeMetric, std::less<>> metrics;
  std::map<std::string, kube::NodeResourceTopology, std::less<>> topologies;
  std::vector<manager::PodProjection> pods;
  std::map<std::string_view, std::vector<const manager::PodProjection*>> pods_of;
  manager::SettingsMaps maps;
  std::optional<policy::state::DesiredStates> desired;  // what was ordered; nullopt: it cannot be read
  std::optional<policy::state::Overrides> overrides;    // of the water line; the same
  manager::StoredBudgets budgets;                       // what evictions let pools do
  std::vector<std::string> notes;                       // what could not be read

  const policy::state::Overrides* overrides_known() const { return overrides ? &*overrides : nullptr; }
};

struct ClusterQuestion {
  std::string config_namespace;
  std::string config_name;
  base::Duration limit{0};  // for one answer of the API server
};
// Into an empty one.
net::Task<Result<void>> read_cluster(net::EventLoop& loop, kube::Client& client, ClusterQuestion question,
                                     ClusterNow& now);

// The settings and orders alone, and what evictions let pools do.
net::Task<Result<void>> read_settings(kube::Client& client, ClusterQuestion question, ClusterNow& now);

inline constexpr std::string_view kBoundPods = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";

// What of the cluster a node's offer rests on. Null where there is none.
struct AboutNode {
  std::span<const manager::PodProjection* const> pods;
  const kube::NodeMetric* metric = nullptr;
  const kube::NodeResourceTopology* topology = nullptr;
  policy::sell::OfferState state = {};
  const policy::sell::Waiting* waiting = nullptr;
  const manager::ExpectedUse* expected = nullptr;
};
AboutNode about(const ClusterNow& now, const kube::Node& node);

// What a manager that starts now would decide, by these settings.
manager::NodeDecision decided(const ClusterNow& now, const kube::Node& node, const manager::Revision& revision,
                              const policy::sell::PluginSet& plugins, const base::Clock& clock);
// By the settings and orders of `now`, and the rest as it is said.
manager::NodeDecision decided(const ClusterNow& now, const kube::Node& node, const manager::Revision& revision,
                              const policy::sell::PluginSet& plugins, const base::Clock& clock, const AboutNode& about);

}  // namespace tidemark::operate
