#include "manager/capacity/capacity_workers.h"

#include <utility>

#include "model/names.h"

namespace tidemark::manager {

CapacityWorkers::CapacityWorkers(net::EventLoop& loop, kube::WorkQueue& queue, OvercommitController& controller,
                                 base::Log log, base::Registry& metrics, base::Duration superseded_rest)
    : loop_(loop),
      queue_(queue),
      controller_(controller),
      log_(std::move(log)),
      errors_(
          metrics.counter("tidemark_manager_reconcile_errors_total", "Reconciles that failed and are tried again.")),
      superseded_rest_(superseded_rest),
      spent_(loop) {}

kube::WorkQueue::Urgency CapacityWorkers::urgency_of(const std::string& node) const {
  return controller_.needs_repair(model::NodeName(node)) ? kube::WorkQueue::Urgency::kUrgent
                                                         : kube::WorkQueue::Urgency::kRoutine;
}

net::Task<void> CapacityWorkers::work(kube::WorkQueue::Urgency least) {
  while (true) {
    const std::string node = co_await queue_.next(least);
    auto place = places_.extract(node);
    if (place) spent_.set();
    auto outcome = co_await controller_.reconcile(model::NodeName(node),
                                                  place ? std::move(place.mapped()) : kube::Place(), queue_.has_line());
    queue_.done(node);
    if (!outcome) {
      errors_.add();
      log_.warn("cannot update node; retrying", {{"node", node}, {"error", outcome.error()}});
      queue_.retry(node, urgency_of(node));
      continue;
    }
    queue_.forget(node);
    if (outcome->done == OvercommitController::Done::kStepsBack) queue_.stand_in_line(node);
    if (outcome->done == OvercommitController::Done::kSuperseded) {
      // Our clock says that we lead, but a newer epoch wrote: the Lease shows the leader at its next read. Until then
      // this node pauses.
      queue_.add_after(node, superseded_rest_);
    } else if (outcome->again_after) {
      queue_.add_after(node, *outcome->again_after);
    }
  }
}

net::Task<void> CapacityWorkers::serve_line() {
  while (true) {
    co_await queue_.line();
    while (places_.size() >= kPlacesOutMax) {
      spent_.clear();
      co_await spent_.wait();
    }
    auto place = co_await controller_.place_for_growth();
    if (!place) {  // refused at once: it would come too late
      co_await loop_.sleep(kLineRest);
      continue;
    }
    const std::string node = queue_.first_in_line();
    places_.insert_or_assign(node, std::move(*place));
    queue_.add(node);
  }
}

}  // namespace tidemark::manager
