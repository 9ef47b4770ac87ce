// NodeResourceTopology (topology.node.k8s.io/v1alpha1): the NUMA zones of a node and what is in each. Named like the
// node; the agent makes it, the manager adds batch resources to its zones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "model/quantity.h"
#include "model/topology.h"

namespace tidemark::kube {

// Amounts are in thousandths of the resource's unit, because zones may carry fractions; finer ones are rounded up. Of
// an unused resource only the name is kept: its place in the list counts for a JSON patch.
struct ZoneResource {
  Text name;
  std::int64_t capacity_milli = 0;
  std::int64_t allocatable_milli = 0;
  std::int64_t available_milli = 0;
  model::Quantity::Format format = model::Quantity::Format::kDecimalSI;  // of allocatable

  std::size_t bytes() const { return name.bytes(); }
};

struct Zone {
  Text name;                   // "node-0"
  bool has_resources = false;  // the list is there, be it empty
  std::vector<ZoneResource> resources;

  std::size_t bytes() const;
};

struct NodeResourceTopology {
  ObjectMeta meta;
  bool has_annotations = false;  // metadata.annotations is there, whatever is kept of it
  std::vector<Zone> zones;

  std::size_t bytes() const;
};

Result<NodeResourceTopology> decode_node_resource_topology(std::string_view bytes, const MetaFields& fields,
                                                           Interner& interner);

// `notes` reports an unreadable annotation.
model::TopologyView to_topology_view(const NodeResourceTopology& topology, std::vector<std::string>& notes);

}  // namespace tidemark::kube
