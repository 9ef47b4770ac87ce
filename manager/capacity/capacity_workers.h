// Takes nodes from the queue and brings what they offer up to date, one at a time each.
//
// While the budget of writes is used up, nodes that want more, or the same written again, stand in a line: whoever
// comes to its head waits for a place, and goes back into the queue with it. So the workers are there for cuts. A node
// keeps its place in the line however often it is looked at meanwhile; one that was cut before its turn comes gives the
// place back.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "kube/work_queue.h"
#include "manager/capacity/overcommit_controller.h"
#include "net/loop.h"

namespace tidemark::manager {

inline constexpr base::Duration kLineRest = std::chrono::seconds(1);
// So many of those that stood in the line may be ahead of a cut: where the API server is slow, or away, the others stay
// there, and no places pile up that would all be spent when it answers again.
inline constexpr std::size_t kPlacesOutMax = 8;

class CapacityWorkers {
 public:
  // `superseded_rest`: how long a node rests that somebody newer writes.
  CapacityWorkers(net::EventLoop& loop, kube::WorkQueue& queue, OvercommitController& controller, base::Log log,
                  base::Registry& metrics, base::Duration superseded_rest);

  // What a node offered is gone or overwritten: that cannot wait in line.
  kube::WorkQueue::Urgency urgency_of(const std::string& node) const;
  net::Task<void> work(kube::WorkQueue::Urgency least);  // until destroyed
  net::Task<void> serve_line();                          // until destroyed

 private:
  net::EventLoop& loop_;
  kube::WorkQueue& queue_;
  OvercommitController& controller_;
  base::Log log_;
  base::Counter& errors_;
  base::Duration superseded_rest_;
  std::unordered_map<std::string, kube::Place> places_;  // of nodes that were at its head
  net::Event spent_;                                     // one of them
};

}  // namespace tidemark::manager
