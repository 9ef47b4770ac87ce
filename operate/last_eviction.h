// When offline work of a node was evicted last, as far as it can be told without asking its manager, which remembers:
// by its pods that are still there, by what its agent tells of YARN's containers, and by the events that the manager
// wrote on the Node.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "manager/evictions/pod_end.h"
#include "net/task.h"

namespace tidemark::operate {

struct LastEviction {
  struct Told {
    base::WallTime at;
    std::string object;    // that tells: "Pod default/etl-1", "Event default/node-1.17a"
    std::string revision;  // of it
  };
  std::optional<Told> kubernetes, yarn;
  std::vector<std::string> notes;  // what could not be read

  const Told* latest() const;  // null: none
};

// `ends`: of the pods on the node. As the manager does, it leaves out a node that is to be empty, and classes that are
// off.
net::Task<LastEviction> last_eviction(kube::Client& client, const kube::Node& node,
                                      std::span<const manager::PodEnd> ends, base::WallTime now, base::Duration limit);

}  // namespace tidemark::operate
