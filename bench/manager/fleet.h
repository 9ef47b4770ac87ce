// A made-up fleet, the same on every machine: everything comes from one seed, and each object is made by itself, so
// that nothing has to be kept. Objects are as an API server prints them, managed fields of pods and NodeMetrics
// included, and begin as kube/memory stores them (kind, apiVersion): else it would write each anew for every list.
//
// Nodes have 64 cores and 256 GiB. Of ten pods of a node about seven serve (Deployments with a sidecar now and then,
// DaemonSets, StatefulSets) and three are batch jobs that ask for batch-cpu. No two pods are alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/random.h"

namespace tidemark::bench {

struct FleetShape {
  std::size_t nodes = 0;
  std::size_t pods_a_node = 0;
  std::uint64_t seed = 1;
};

// What an agent reports. Serving pods use `load_permille` of what they use usually.
struct Report {
  base::WallTime updated;
  std::int64_t load_permille = 1000;
};

class Fleet {
 public:
  explicit Fleet(FleetShape shape) : shape_(shape) {}

  const FleetShape& shape() const { return shape_; }
  std::string node_name(std::size_t node) const;
  // JSON text; `revision` is the object's resourceVersion.
  std::string node(std::size_t node, std::int64_t revision) const;
  std::string pod(std::size_t node, std::size_t pod, std::int64_t revision) const;
  std::string node_metric(std::size_t node, const Report& report, std::int64_t revision) const;

  // What the node may sell after that report, by the formula `usage` of contract 5.3, written out here once
  // more: capacity × reclaim % − max(system use, kubelet's reservation) − what serving pods use. No third party, no
  // cap.
  std::int64_t batch_cpu_milli(std::size_t node, const Report& report, std::int64_t reclaim_percent) const;

 private:
  struct PodFacts;
  PodFacts facts(std::size_t node, std::size_t pod) const;
  base::Random draws(std::uint64_t what, std::size_t node, std::size_t pod) const;

  FleetShape shape_;
};

}  // namespace tidemark::bench
