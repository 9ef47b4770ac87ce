// `tidemark plan -f FILE`: what other settings would do to the cluster as it is now, node by node and in sum, by the
// manager's own policy. Nothing is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "operate/manifests.h"
#include "operate/plan_changes.h"
#include "policy/sell/overcommit/plugins.h"

namespace tidemark::operate {

struct PlanOptions {
  std::string text;                      // of the file: manifests of slo-controller-config, tidemark-config, or both
  std::optional<Manifests> manifests{};  // instead of the file
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  manager::ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
  policy::sell::PluginSet plugins;
  base::Duration limit = std::chrono::seconds(60);  // for one answer of the API server
};

// One thing that is wrong with new settings.
struct SettingsFault {
  std::string map;    // name of the ConfigMap; "" if the file as a whole is wrong
  std::string key;    // of its data
  std::string place;  // "pools[1].name"; "" if it is the whole key
  std::string text;   // the whole sentence, with key and place
};

struct SettingsPlan {
  std::vector<SettingsFault> problems;  // all that is wrong with the new settings; if any, the rest is empty
  std::vector<NodeChange> nodes;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
};
net::Task<Result<SettingsPlan>> plan_settings(net::EventLoop& loop, kube::Client& client, PlanOptions options);

}  // namespace tidemark::operate
