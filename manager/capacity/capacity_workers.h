// Takes nodes from the queue and updates their offers, one node per worker at a time.
//
// While the write budget is used up, nodes that need growth or a refresh wait in a line. The first of the line waits
// for a place in the budget and returns to the queue with it, so the workers stay free for cuts. A node keeps its
// position in the line when it is decided again. A node that was cut before its turn returns its place.
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
// Limit of waiting nodes that hold a place before a cut. If the API server is slow or unreachable, the others stay in
// the line, so that places do not pile up and burst when it answers again.
inline constexpr std::size_t kPlacesOutMax = 8;

class CapacityWorkers {
 public:
  // `superseded_rest`: retry delay of a node with a newer epoch.
  CapacityWorkers(net::EventLoop& loop, kube::WorkQueue& queue, OvercommitController& controller, base::Log log,
                  base::Registry& metrics, base::Duration superseded_rest);

  // Urgent if the offer of the node is gone or overwritten: that cannot wait in the line.
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
