// Checks the network bandwidth of resource-qos-config against system-config. Internal to the checks.
#pragma once

#include "base/json.h"
#include "policy/settings/report.h"

namespace tidemark::policy::settings {

// For each strategy: requests in one form (all shares, or all amounts), and their sum within the bandwidth:
//
//    Σ ingressRequest ≤ 100 %, Σ egressRequest ≤ 100 %
//    Σ …Request ≤ totalNetworkBandwidth
//
// Traps, kept for Profile::kKoordinator: shares are compared with the bandwidth too, as plain numbers; and without a
// bandwidth only 0 fits (that of a node strategy is the one with the very same selector, or the cluster's if
// system-config has no node strategies). Profile::kTidemark compares only amounts with it, and only if there is one.
//
// `system` is the parsed system-config; null if there is none (an empty object for Koordinator's parity then).
void check_network(const Json& qos, const Json& system, SettingsReport& report);

}  // namespace tidemark::policy::settings
