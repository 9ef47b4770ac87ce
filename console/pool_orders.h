// The orders that the nodes of a pool are under: those for the cluster, for the pool, and for nodes of it alone.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "console/view.h"

namespace tidemark::console {

// Writes the member orders: an array, the widest scope first; null if the stored orders cannot be read. The same order
// for several nodes is one element. Orders that have ended are left out. The member ordersLeftOff counts the nodes with
// orders of their own that did not fit into the list.
void write_pool_orders(base::JsonWriter& json, View& view, std::string_view pool, base::WallTime now);

}  // namespace tidemark::console
