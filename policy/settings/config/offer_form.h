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

#include "policy/sell/ledger/ledger.h"
#include "policy/sell/motion.h"
#include "policy/waterline/form.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::settings {

// Absent members leave the present value.
void read_ledger(waterline::Form& form, std::span<const model::WorkClass> classes, model::LedgerConfig& ledger,
                 waterline::Problems& problems);
void read_drain(waterline::Form& form, bool& ends_yarn_work, waterline::Problems& problems);
void read_arbitrate(waterline::Form& form, model::ArbitrateSettings& arbitrate, waterline::Problems& problems);
void read_motion(waterline::Form& form, model::MotionConfig& motion, waterline::Problems& problems);

}  // namespace tidemark::policy::settings
