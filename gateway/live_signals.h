// The live signals of one decision, from both sides and from the other runs of this process. Runs of other replicas
// count from the creation of their pods.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/idle_capacity.h"
#include "gateway/yarn_queues.h"
#include "policy/route/signals.h"

namespace tidemark::gateway {

// What the signals need to know of a run that lives.
struct RunInSight {
  std::int64_t id = 0;
  std::string_view business;
  std::string_view ns;  // "": the namespace of the gateway
  policy::route::RunNeed need;
  bool at_kubernetes = false;   // it has this side
  bool waits_for_room = false;  // there
};

class LiveSignals {
 public:
  // null: that side has no signals.
  LiveSignals(const IdleCapacity* capacity, YarnQueues* queues, std::string default_namespace)
      : capacity_(capacity), queues_(queues), default_namespace_(std::move(default_namespace)) {}

  // Adds need, capacity, quota and queue. `others`: all other runs of this process.
  void add_to(policy::route::RouteSignals& signals, const RunInSight& run, std::string_view queue,
              std::span<const RunInSight> others) const;
  YarnQueues* queues() const { return queues_; }

 private:
  const IdleCapacity* capacity_;
  YarnQueues* queues_;
  const std::string default_namespace_;
};

}  // namespace tidemark::gateway
