// Waiting until the nodes of a pool, or of the cluster, follow an override: the manager has told the agent of every
// node that it writes, and what the node offers is not worth a write any more. A pool that evictions stopped has
// followed with what is sold and no more, whatever the line gives.
//
// Nodes and what their offers rest on are watched, and a node is looked at when something about it changes, or while it
// does not follow yet. Nothing that the API server does ends the wait before its time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "kube/client.h"
#include "net/loop.h"
#include "operate/override.h"

namespace tidemark::operate {

inline constexpr base::Duration kFollowLook = std::chrono::seconds(1);
inline constexpr base::Duration kFollowBackoffMax = std::chrono::seconds(30);  // between tries of what failed

struct OverrideWait {
  bool reached = false;
  std::size_t nodes = 0;                 // of the scope that a manager writes
  std::vector<std::string> not_reached;  // by name
  // Offer and lines have followed, and the rest of the NodeSLO's extensions.tidemark is not what this version would
  // write: a manager of another one may never write it. By name; not among not_reached.
  std::vector<std::string> other_words;
  std::vector<std::string> stopped;  // pools of the scope that sell nothing new because of evictions, by name
  std::string trouble;               // why nothing newer is known: a list that is not in, an error of the last try
  bool operator==(const OverrideWait&) const = default;
};

// `on_progress` hears of each change, once a look at most.
net::Task<OverrideWait> wait_for_override(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                          base::Random random, OverrideOptions options, base::Duration limit,
                                          std::function<void(const OverrideWait&)> on_progress);

}  // namespace tidemark::operate
