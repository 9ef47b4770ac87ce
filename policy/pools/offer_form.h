// How a pool's nodes offer what they have: the split between Kubernetes and YARN, and how fast an offer moves.
//
//   ledger:
//     mode: strict                 # shared
//     classAware: true
//     kubernetes: {minPercent: 30, maxPercent: 90}
//     yarn: {minPercent: 40, overReport: {cpuPercent: 120, memoryPercent: 100}}
//   motion: {deadBandPermille: 10, slewPermillePerMinute: 100, hold: 5m, decayStep: 5m, decaySteps: 6, forget: 24h}
#pragma once

#include "policy/ledger/ledger.h"
#include "policy/motion/motion.h"
#include "policy/pools/form.h"

namespace tidemark::policy {

// What is not given stays as it is.
void read_ledger(Form& form, LedgerConfig& ledger, Problems& problems);
void read_motion(Form& form, MotionConfig& motion, Problems& problems);

}  // namespace tidemark::policy
