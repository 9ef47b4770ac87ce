// `tidemark doctor cluster`: present and coming problems of offline work on the nodes of a cluster, and their fixes;
// from the API server alone, with the user's permissions. Writes nothing.
//
// The kubelets' own configuration is read through the API server (nodes/NAME/proxy/configz) where that is allowed, of a
// few of each group of like nodes. After a refusal no more are read, and it is reported once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/client.h"
#include "manager/settings/revision.h"
#include "net/loop.h"
#include "policy/explain/doctor/cluster_findings.h"
#include "policy/state/peer.h"

namespace tidemark::cli {

struct ClusterDoctorOptions {
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  std::string peers_namespace{policy::state::kPeersNamespace};
  manager::ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
  std::optional<std::size_t> kubelets = 20;         // of each group of like nodes; nullopt: all
  base::Duration limit = std::chrono::seconds(60);  // for one answer of the API server
  std::function<void(const std::string&)> progress = [](const std::string&) {};  // once a second at most
};

struct ClusterDoctorReport {
  std::vector<policy::explain::ClusterFinding> findings;
  std::vector<std::string> notes;  // what could not be read on the way
  bool bad() const { return policy::explain::worst(findings) == policy::explain::Severity::kBad; }
};

// An error says which of nodes, NodeMetrics and settings could not be read; all else is a finding or a note.
net::Task<Result<ClusterDoctorReport>> examine_cluster(net::EventLoop& loop, kube::Client& client,
                                                       ClusterDoctorOptions options);

std::string render_text(const ClusterDoctorReport& report);
// {"severity":…,"findings":[…],"notes":[…]}; policy/explain/cluster_doctor_text.h has the first two.
Json render_json(const ClusterDoctorReport& report);

}  // namespace tidemark::cli
