// The bytes of a write of zones, from what was decided. Pure.
//
// A JSON patch on the NodeResourceTopology, because a merge patch would replace the whole list of zones, of which we
// know a part. Paths count places, so the patch holds only for the revision that it was made from: it replaces
// metadata.resourceVersion by the one it was decided on, and any write in between makes it a 409.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kube/node_resource_topology.h"
#include "policy/sell/overcommit/writes.h"
#include "policy/sell/overcommit/zones.h"

namespace tidemark::manager {

struct ZoneWrite {
  const kube::NodeResourceTopology& decided_on;
  const policy::sell::ZonesPlan& wanted;
  std::span<const policy::sell::ZoneChange> changes;
  std::int64_t epoch = 0;
};

std::string zone_patch(const ZoneWrite& write);

}  // namespace tidemark::manager
