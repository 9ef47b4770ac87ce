#include "yarn_operator/node_figures.h"

#include <string_view>

#include "base/text.h"

namespace tidemark::yarn_operator {

std::string cluster_figures(const std::vector<const ClusterLink*>& links) {
  static constexpr std::string_view kUp[] = {"tidemark_yarn_operator_cluster_up",
                                             "1: a ResourceManager of the cluster answered the last request."};
  std::string out = base::cat("# HELP ", kUp[0], " ", kUp[1], "\n# TYPE ", kUp[0], " gauge\n");
  for (const ClusterLink* link : links) {
    out += base::cat(kUp[0], "{cluster=\"", link->id(), "\"} ", link->answers() ? 1 : 0, "\n");
  }
  return out;
}

std::string node_figures(const std::vector<const ClusterLink*>& links) {
  struct Family {
    std::string_view name, help;
    double (*value)(const hadoop::NodeReport&);
  };
  static constexpr double kMiB = 1024.0 * 1024.0;
  static constexpr Family kFamilies[] = {
      {"yarn_node_cpu_resource", "Total vcores of a NodeManager.",
       [](const hadoop::NodeReport& node) { return double(node.capability.vcores); }},
      {"yarn_node_memory_resource", "Total memory of a NodeManager, in bytes.",
       [](const hadoop::NodeReport& node) { return double(node.capability.memory_mib) * kMiB; }},
      {"yarn_node_cpu_allocated_resource", "Vcores that its containers hold.",
       [](const hadoop::NodeReport& node) { return double(node.used.vcores); }},
      {"yarn_node_memory_allocated_resource", "Memory that its containers hold, in bytes.",
       [](const hadoop::NodeReport& node) { return double(node.used.memory_mib) * kMiB; }},
  };
  std::string out;
  for (const Family& family : kFamilies) {
    out += base::cat("# HELP ", family.name, " ", family.help, "\n# TYPE ", family.name, " gauge\n");
    for (const ClusterLink* link : links) {
      std::string_view host_before;
      for (const auto& [id, report] : link->nodes()) {
        // Two NodeManagers of one host have the same labels, and Prometheus rejects a scrape with duplicate series.
        if (!hadoop::is_active(report.state) || id.host == host_before) continue;
        host_before = id.host;
        out += base::cat(family.name, "{instance=\"", id.host, "\",cluster=\"", link->id(), "\"} ",
                         family.value(report), "\n");
      }
    }
  }
  return out;
}

}  // namespace tidemark::yarn_operator
