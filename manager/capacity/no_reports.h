// Measures how long no node report could arrive, by two signs: no answer to reads of reports, and no accepted renewal
// of our Lease. A server that takes no writes takes no reports either (etcd is down or full; reads and watches
// continue). One outage may show both signs, one after the other: it counts once, with the longer time.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "kube/silence.h"

namespace tidemark::manager {

class NoReports {
 public:
  // A failed renewal for any other reason does not stop reports.
  void came() { came_ = true; }

  kube::Unheard look(base::MonotonicTime now, kube::Unheard reads, kube::Unheard lease) {
    if (came_) lease_ += lease.total - lease_seen_;
    lease_seen_ = lease.total;
    const bool lasts = reads.lasts || (lease.lasts && !came_);
    came_ = false;
    const kube::Unheard out{before_ + std::max(reads.total - reads_, lease.total - lease_), lasts};
    if (lasts) {
      quiet_since_.reset();
    } else if (!quiet_since_) {
      quiet_since_ = now;
    } else if (now - *quiet_since_ >= kube::kNoticedWithin) {  // neither sign of the past outage can still follow
      before_ = out.total;
      reads_ = reads.total;
      lease_ = lease.total;
    }
    return out;
  }

 private:
  bool came_ = false;  // since the last pass
  std::optional<base::MonotonicTime> quiet_since_;
  base::Duration lease_seen_{0};  // at the last pass
  // End of the last outage.
  base::Duration before_{0};
  base::Duration reads_{0};
  base::Duration lease_{0};
};

}  // namespace tidemark::manager
