// Orders as JSON: what an order would do, how far an order of this console is, and the stored progress of evictions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "console/view.h"
#include "operate/off_progress.h"
#include "operate/order.h"

namespace tidemark::console {

// Before an order: `report` is of a dry run.
std::string preview_document(View& view, const operate::OrderReport& report, const operate::OrderOptions& order,
                             base::WallTime now);

enum class OrderPhase : std::uint8_t { kWriting, kEvicting, kDone, kFailed };

// An order that this console carries out, or carried out.
struct OrderState {
  std::string id;
  base::WallTime at;
  operate::OrderOptions order;
  OrderPhase phase = OrderPhase::kWriting;
  operate::OrderProgress marked;
  std::optional<operate::OrderReport> report;      // once all nodes are written
  std::optional<operate::OffProgress> eviction{};  // of `evict`, once it began
  std::optional<Error> error;                      // of kFailed, if nothing was done
};
Json order_json(const OrderState& state);

// As the ConfigMap `tidemark-off` has them, the latest first.
Json evictions_json(const std::vector<operate::OffProgress>& evictions);

}  // namespace tidemark::console
