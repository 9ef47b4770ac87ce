// How many pods were evicted where, lately: counted from the events that the kubelet (`Evicted`) and Koordinator's
// agent
// (`evictPodSuccess`) write. What kills containers without an event (that agent's default) cannot be seen here.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/objects.h"
#include "policy/rollout/rollout.h"

namespace tidemark::manager {

// An event about evictions, as the manager keeps it.
struct EvictionEvent {
  kube::ObjectMeta meta;
  kube::Text node;         // where it happened; empty where the event does not say
  std::int64_t count = 1;  // the same event may stand for many
  std::optional<base::WallTime> last;

  std::size_t bytes() const { return sizeof(EvictionEvent) + meta.bytes() + node.bytes(); }
};
Result<EvictionEvent> decode_eviction_event(std::string_view bytes, kube::Interner& interner);

class EvictionTally {
 public:
  static constexpr base::Duration kKept = std::chrono::hours(1);  // as long as an API server keeps events

  // What an event says that was not there before, or says more than before. `listed`: it was there when we came, and
  // its own time tells when; else it happens now.
  void changed(const EvictionEvent* before, const EvictionEvent& after, bool listed, base::WallTime now);

  // In the window that ends now, a pool each. A node without a pool (gone meanwhile) counts nowhere.
  std::vector<policy::PoolEvictions> count(base::WallTime now, base::Duration window,
                                           const std::function<std::string(std::string_view node)>& pool_of);
  void clear() { seen_.clear(); }

 private:
  struct Seen {
    base::WallTime when;
    std::string node;
    std::int64_t count;
  };
  std::deque<Seen> seen_;
};

}  // namespace tidemark::manager
