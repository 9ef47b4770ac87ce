// Network bandwidth of resource-qos-config against what system-config says there is. Internal to the checks.
#pragma once

#include "base/json.h"
#include "policy/settings/report.h"

namespace tidemark::policy {

// For each strategy: requests in one form (all shares, or all amounts), and in sum no more than there is:
//
//   Σ ingressRequest ≤ 100 %, Σ egressRequest ≤ 100 %
//   Σ …Request ≤ totalNetworkBandwidth
//
// Traps, kept for Parity::kKoordinator: shares are compared with the bandwidth too, as plain numbers; and without a
// bandwidth nothing but 0 fits (that of a node strategy is the one with the very same selector, or the cluster's where
// system-config has no node strategies). Parity::kTidemark compares only amounts with it, and only where there is one.
//
// `system` is the parsed system-config; null where there is none (an empty object for the peer's manners then).
void check_network(const Json& qos, const Json& system, SettingsReport& report);

}  // namespace tidemark::policy
