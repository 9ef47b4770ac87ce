// Metrics of the tasks of the node, by provider. Each provider has one kind: the kubelet and the API server list pods,
// copilots their containers, host applications themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/tasks/provider.h"
#include "base/clock.h"
#include "base/metrics.h"

namespace tidemark::agent {

class TaskMetrics {
 public:
  // Both outlive it.
  TaskMetrics(base::Registry& metrics, std::span<const TaskProvider* const> providers);

  // `claims_refused`: tasks missing from the list because their group has another owner.
  void show(std::size_t claims_refused, base::MonotonicTime now);

 private:
  struct Source {
    const TaskProvider* provider = nullptr;
    base::Gauge* listed = nullptr;
    base::Gauge* unconfirmed = nullptr;
    base::Gauge* refused = nullptr;
    base::Counter* lists_refused = nullptr;
    base::Gauge* age = nullptr;  // null until its first list
  };

  base::Registry& metrics_;
  std::vector<Source> sources_;
  base::Gauge& claims_refused_;
};

}  // namespace tidemark::agent
