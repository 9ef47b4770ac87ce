// `tidemark plan -f FILE`: what other settings would do to the cluster as it is now, node by node and in sum, by the
// manager's own policy. Nothing is written.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "policy/overcommit/plugins.h"

namespace tidemark::cli {

struct PlanOptions {
  std::string text;  // of the file: manifests of slo-controller-config, tidemark-config, or both
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  manager::ZonesOf zones = [](std::string_view) { return policy::Zones(); };
  policy::PluginSet plugins;
  std::size_t shown_max = 20;  // nodes, those that change most first
  bool json = false;
  base::Duration limit = std::chrono::seconds(60);  // for one answer of the API server
};

struct PlanReport {
  std::string text;
  bool good = false;  // the new settings can be used; otherwise the text says all that is wrong with them
};
net::Task<Result<PlanReport>> plan_settings(net::EventLoop& loop, kube::Client& client, PlanOptions options);

}  // namespace tidemark::cli
