// How long no report of any node could come, by two signs: nobody answered who reads reports, and nobody took the
// renewals of our lease, since a server that takes no writes takes no reports either (etcd is away or full; reads and
// watches go on). One outage may show both signs, one later than the other: it counts once, as long as the longer one.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "kube/silence.h"

namespace tidemark::manager {

class NoReports {
 public:
  // Whatever keeps our lease from being renewed keeps no report from being taken.
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
    } else if (now - *quiet_since_ >= kube::kNoticedWithin) {  // neither sign of what is over can still come
      before_ = out.total;
      reads_ = reads.total;
      lease_ = lease.total;
    }
    return out;
  }

 private:
  bool came_ = false;  // since the last look
  std::optional<base::MonotonicTime> quiet_since_;
  base::Duration lease_seen_{0};  // at the last look
  // When the last outage was over for certain.
  base::Duration before_{0};
  base::Duration reads_{0};
  base::Duration lease_{0};
};

}  // namespace tidemark::manager
