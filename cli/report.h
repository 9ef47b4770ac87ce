// `tidemark report states`: who is on, observed, draining or off, by whose order, why and until when.
// `tidemark report difference`: what a manager would tell each node to offer, beside what is in force on it, node by
// node and in sum. Found from the API server alone: it needs no manager, and writes nothing.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "policy/overcommit/plugins.h"

namespace tidemark::cli {

enum class ReportOf : std::uint8_t { kStates, kDifference };

struct ReportOptions {
  ReportOf about = ReportOf::kStates;
  std::string pool;  // only this one; empty: all
  bool all = false;  // also nodes that nobody ordered anything for, or that are as they should be
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  manager::ZonesOf zones = [](std::string_view) { return policy::Zones(); };
  policy::PluginSet plugins;  // what the manager runs with
  bool json = false;
  base::Duration limit = std::chrono::seconds(30);
};

// The whole output. Errors name what could not be read.
net::Task<Result<std::string>> report(net::EventLoop& loop, kube::Client& client, ReportOptions options);

}  // namespace tidemark::cli
