// What a pool's evictions let it do.
//
//   evictions:
//     perJobHour: 10               # of one job, and fewer the more it was evicted lately
//     perPoolHour: 600             # of the whole pool; without it there is no such limit
//     grants: true                 # each node is told its part of perPoolHour in its NodeSLO
//     backOff: 2m                  # for so long after an eviction its node sells nothing new; with profile tidemark
//     breaker:
//       watched: true
//       window: 10m                # at least `atLeast` evictions in it,
//       atLeast: 20
//       ratePercent: 10            # and more than this share of what ended: the pool sells nothing new
//       coolDown: 30m              # for so long, and then so long on probation
//     node:                        # how an agent goes about it
//       grace: 30s                 # between asking a task to end and killing its group
//       memoryPressurePercent: 20  # evict too while all work stands still for want of memory for more than this
//       diskFreePercent: 20        # the same while less of a disk is free than this,
//       inodesFreePercent: 10      # or less of its inodes
#pragma once

#include "policy/budget/settings.h"
#include "policy/evict/settings.h"
#include "policy/pools/form.h"

namespace tidemark::policy {

// What is not given stays as it is.
void read_evictions(Form& form, BudgetSettings& budget, EvictSettings& node, Problems& problems);

// Those of our own lines that a form names; the manager's settings and its word to an agent name them alike.
void read_evict_lines(Form& form, EvictSettings& into);

}  // namespace tidemark::policy
