// Metrics of the operator itself. Those of single nodes are in node_figures.h.
#pragma once

#include "base/metrics.h"

namespace tidemark::yarn_operator {

struct OperatorMetrics {
  explicit OperatorMetrics(base::Registry& metrics);

  base::Gauge& mismatched_nodes;
  base::Gauge& mapped_nodes;
  base::Gauge& without_node;
  base::Gauge& clusters_away;
  base::Gauge& clusters_closed;
  base::Gauge& clusters_waiting_in_vain;
  base::Gauge& clusters_ignoring_cpu;
  base::Gauge& silent_nodes;
  base::Gauge& contested_nodes;
  base::Gauge& renewal_s;
  base::Counter& agent_preempted;
  base::Counter& agent_not_preempted;
  base::Counter& drained_nodes;
  base::Counter& reclaimed_nodes;
  base::Counter& reclaim_preempted;
  base::Gauge& reclaims_waiting;
};

}  // namespace tidemark::yarn_operator
