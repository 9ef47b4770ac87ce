#include "yarn_operator/operator_metrics.h"

namespace tidemark::yarn_operator {

OperatorMetrics::OperatorMetrics(base::Registry& metrics)
    : mismatched_nodes(metrics.gauge("tidemark_yarn_operator_mismatched_nodes",
                                     "Nodes whose NodeManager is not certain; their totals are not sent.")),
      mapped_nodes(metrics.gauge("tidemark_yarn_operator_nodes", "Nodes with a NodeManager.")),
      without_node(metrics.gauge("tidemark_yarn_operator_node_managers_without_node",
                                 "Active NodeManagers without a node; their totals are not sent.")),
      clusters_away(metrics.gauge("tidemark_yarn_operator_clusters_away",
                                  "Clusters whose ResourceManager does not answer, or that have an invalid file.")),
      clusters_closed(metrics.gauge("tidemark_yarn_operator_clusters_closed",
                                    "Clusters in which no node has room for a container: applications are refused.")),
      clusters_waiting_in_vain(
          metrics.gauge("tidemark_yarn_operator_clusters_waiting_in_vain",
                        "Clusters in which applications wait for a container that fits on no node.")),
      clusters_ignoring_cpu(
          metrics.gauge("tidemark_yarn_operator_clusters_ignoring_cpu",
                        "Clusters whose scheduler counts only memory: it allocates more vcores than nodes have.")),
      silent_nodes(metrics.gauge("tidemark_yarn_operator_silent_nodes",
                                 "Nodes that keep their totals because most nodes of their cluster are not ready.")),
      contested_nodes(metrics.gauge("tidemark_yarn_operator_contested_nodes",
                                    "Nodes whose totals were changed three times within five minutes.")),
      renewal_s(metrics.gauge("tidemark_yarn_operator_book_renewal_seconds",
                              "Renewal interval of a node's YARN ledger while work waits.")),
      agent_preempted(metrics.counter("tidemark_yarn_operator_agent_preempted_total",
                                      "Containers preempted because their node's agent reclaimed capacity.")),
      agent_not_preempted(metrics.counter("tidemark_yarn_operator_agent_not_preempted_total",
                                          "Containers named by an agent that stayed, or others ended instead.")),
      drained_nodes(
          metrics.counter("tidemark_yarn_operator_drained_nodes_total",
                          "Nodes on which YARN held more than its offer at the end of a drain; the excess ended.")),
      reclaimed_nodes(metrics.counter(
          "tidemark_yarn_operator_reclaimed_nodes_total",
          "Nodes on which YARN held more than its class may keep while more timely work waited; the excess "
          "ended.")),
      reclaim_preempted(metrics.counter("tidemark_yarn_operator_reclaim_preempted_total",
                                        "Containers charged to the hour of their pool for more timely work.")),
      reclaims_waiting(metrics.gauge("tidemark_yarn_operator_reclaims_waiting_nodes",
                                     "Nodes on which a reclaim waits because the hour is used up.")) {}

}  // namespace tidemark::yarn_operator
