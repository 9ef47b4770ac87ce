// `tidemark explain node NAME`: the terms of what a node may sell, from what the API server has now, by the same policy
// and the same bytes that the manager decides on.
#pragma once

#include <string>

#include "base/flags.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "policy/sell/overcommit/plugins.h"

namespace tidemark::cli {

struct ExplainOptions {
  std::string node;
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  manager::ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
  policy::sell::PluginSet plugins;  // what the manager runs with
  std::string journal;  // the folder of the manager's journal, for what the manager alone remembers; "": not read
  bool json = false;
  base::Duration limit = std::chrono::seconds(30);
};

// The whole output. Errors name what could not be read.
net::Task<Result<std::string>> explain_node(net::EventLoop& loop, kube::Client& client, ExplainOptions options);

}  // namespace tidemark::cli
