// How long no report of any node could come, by two signs: nobody answered who reads reports, and nobody took the
// renewals of our lease, since a server that takes no writes takes no reports either (etcd is away or full; reads and
// watches go on). One outage may show both signs, one later than the other: it counts once, as long as the longer one.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "kube/silence.h"

namespace tidemark::manager {

class NoReports {
 public:
  kube::Unheard look(kube::Unheard reads, kube::Unheard lease) {
    const kube::Unheard out{before_ + std::max(reads.total - reads_, lease.total - lease_), reads.lasts || lease.lasts};
    if (!out.lasts) {
      before_ = out.total;
      reads_ = reads.total;
      lease_ = lease.total;
    }
    return out;
  }

 private:
  // When neither lasted, the last time that somebody looked.
  base::Duration before_{0};
  base::Duration reads_{0};
  base::Duration lease_{0};
};

}  // namespace tidemark::manager
