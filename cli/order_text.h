// The result of an order as text, and of the wait for it as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "operate/order.h"
#include "operate/order_wait.h"

namespace tidemark::cli {

std::string render_text(const operate::OrderReport& report, const operate::OrderOptions& options);

// {"reached":…,"nodesSilent":[…],"agentsOfOtherVersion":[…],"withoutAgent":[…]}, as members of `into`.
void add_json(const operate::WaitReport& waited, Json& into);

}  // namespace tidemark::cli
