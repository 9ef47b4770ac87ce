// Takes nodes from the queue and brings what they offer up to date, one at a time each.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "kube/work_queue.h"
#include "manager/capacity/overcommit_controller.h"
#include "net/loop.h"

namespace tidemark::manager {

class CapacityWorkers {
 public:
  // `superseded_rest`: how long a node rests that somebody newer writes.
  CapacityWorkers(kube::WorkQueue& queue, OvercommitController& controller, base::Log log, base::Registry& metrics,
                  base::Duration superseded_rest);

  // What a node offered is gone or overwritten: that cannot wait in line.
  kube::WorkQueue::Urgency urgency_of(const std::string& node) const;
  net::Task<void> work(kube::WorkQueue::Urgency least);  // until destroyed

 private:
  kube::WorkQueue& queue_;
  OvercommitController& controller_;
  base::Log log_;
  base::Counter& errors_;
  base::Duration superseded_rest_;
};

}  // namespace tidemark::manager
