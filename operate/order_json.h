// The result of an order as JSON: `tidemark off -o json` prints it, and the console answers it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "operate/order.h"

namespace tidemark::operate {

std::string_view scope_word(OrderScope scope);
// By the value of OrderOutcome.
std::array<std::size_t, 7> counts_of(const OrderReport& report);
// Whether OrderedNode::state is set.
bool has_state(OrderOutcome outcome);

enum class NodesShown : std::uint8_t { kAll, kProblems };
inline constexpr std::size_t kProblemsShown = 100;
// kProblems: the nodes that do not carry the order, at most kProblemsShown of them.
Json render_json(const OrderReport& report, const OrderOptions& options, NodesShown shown = NodesShown::kAll);

}  // namespace tidemark::operate
