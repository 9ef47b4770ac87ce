// The body of POST /api/v1/orders: an order as `tidemark off|on|observe` takes it, as JSON.
//
//   {"verb":"off", "scope":"pool", "pool":"web", "reason":"kernel update", "evict":true, "graceSeconds":30,
//    "budgetPerMinute":60, "dryRun":true}
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "console/body.h"
#include "operate/evict.h"
#include "operate/order.h"

namespace tidemark::console {

// Without author, namespace and zones: the caller sets them.
struct OrderRequest {
  operate::OrderOptions order;
  operate::EvictOptions evict;  // of `order.command.evict`
};

inline constexpr std::size_t kOrderNodesMax = 1000;

// Total. An unknown member is an error: an order that is understood by half must not be carried out.
std::expected<OrderRequest, WrongBody> parse_order(std::string_view body);

}  // namespace tidemark::console
