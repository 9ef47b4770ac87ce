// The limits of a pool's evictions.
//
//    evictions:
//      perJobHour: 10               # of one job, and fewer the more it was evicted lately
//      perNodeHour: 20              # of a node without a grant; unset: 2 with grants, else 20 with profile tidemark
//      perPoolHour: 600             # of the whole pool; without it there is no such limit
//      grants: true                 # each node gets its part of perPoolHour in its NodeSLO
//      backOff: 2m                  # time after an eviction without new sales of its node; with profile tidemark
//      breaker:
//        watched: true
//        window: 10m                # at least `atLeast` evictions in it,
//        atLeast: 20
//        ratePercent: 10            # and more than this share of ended tasks: the pool sells nothing new
//        coolDown: 30m              # for this time, and then as long on probation
//      node:                        # settings of the agents
//        grace: 30s                 # between stopping a task and killing its cgroup
//        memoryPressurePercent: 20  # evict too while all tasks stall for lack of memory for more than this
//        diskFreePercent: 20        # the same while less of a disk is free than this,
//        inodesFreePercent: 10      # or less of its inodes
#pragma once

#include "model/settings/budget_settings.h"
#include "model/settings/evict_settings.h"
#include "policy/waterline/form.h"

namespace tidemark::policy::settings {

// Absent members leave the present value.
void read_evictions(waterline::Form& form, model::BudgetSettings& budget, model::EvictSettings& node,
                    waterline::Problems& problems);

// Tidemark's thresholds that a form names; the settings and the agent's part of the NodeSLO use the same names.
void read_evict_lines(waterline::Form& form, model::EvictSettings& into);

}  // namespace tidemark::policy::settings
