// Follows the events about evictions while a roll-out is under way, and only then.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "manager/settings/eviction_tally.h"
#include "net/loop.h"

namespace tidemark::manager {

class EvictionWatch {
 public:
  EvictionWatch(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher, kube::Interner& interner,
                const base::Log& log, base::Registry& metrics, base::Random random);

  net::Task<bool> wait_synced(base::Duration limit);
  bool synced() const { return kubelet_.synced() && agent_.synced(); }
  // nullopt while the events are not listed.
  std::optional<std::vector<policy::PoolEvictions>> count(
      base::Duration window, const std::function<std::string(std::string_view node)>& pool_of);

 private:
  void follow(kube::Informer<EvictionEvent>& events);

  net::EventLoop& loop_;
  EvictionTally tally_;
  kube::Informer<EvictionEvent> kubelet_;
  kube::Informer<EvictionEvent> agent_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
