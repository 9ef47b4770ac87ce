// How a pool's nodes offer their capacity: the split between Kubernetes and YARN, and how fast an offer moves.
//
//    ledger:
//      mode: strict                 # shared
//      classAware: true
//      kubernetes: {minPercent: 30, maxPercent: 90}
//      yarn:
//        minPercent: 40
//        overReport:
//          cpuPercent: 120            # without a matching entry
//          memoryPercent: 100
//          entries:                   # the first one that matches the class and the hour
//          - {class: spark, hours: 22-7, cpuPercent: 140}
//          - {class: training, cpuPercent: 100}
//    motion: {deadBandPermille: 10, slewPermillePerMinute: 100, hold: 5m, decayStep: 5m, decaySteps: 6, forget: 24h}
#pragma once

#include <span>

#include "policy/ledger/ledger.h"
#include "policy/motion/motion.h"
#include "policy/pools/form.h"
#include "policy/pools/pools.h"

namespace tidemark::policy {

// Absent members leave the present value.
void read_ledger(Form& form, std::span<const WorkClass> classes, LedgerConfig& ledger, Problems& problems);
void read_drain(Form& form, bool& ends_yarn_work, Problems& problems);
void read_arbitrate(Form& form, ArbitrateSettings& arbitrate, Problems& problems);
void read_motion(Form& form, MotionConfig& motion, Problems& problems);

}  // namespace tidemark::policy
