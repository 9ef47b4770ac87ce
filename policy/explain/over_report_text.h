// Renders the over-report of each side in a pool's settings, by class and hour.
#pragma once

#include <string>

#include "base/json.h"
#include "policy/sell/ledger/ledger.h"

namespace tidemark::policy::explain {

// A line for each side with an offer above or below the real amount; "" if there is none.
std::string over_report_text(const model::LedgerConfig& ledger);
// {"yarn":{"cpuPercent":110,"memoryPercent":100,"entries":[{"class":"spark","hours":"22-7","cpuPercent":130}]}}
Json over_report_json(const model::LedgerConfig& ledger);

}  // namespace tidemark::policy::explain
