// The answers of the API as JSON. console/openapi.json describes each of them. Times are seconds since 1970; null means
// unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "console/view.h"
#include "kube/objects.h"
#include "model/node.h"

namespace tidemark::console {

// A column of the list of nodes. The order of kNodeColumns is that of rows in the stream.
struct NodeColumn {
  std::string_view name;
  void (*write)(base::JsonWriter& json, const NodeRow& row);
};
const std::vector<NodeColumn>& node_columns();
// The named ones, in the order given; all if `names` is empty. kInvalid names the first unknown one.
Result<std::vector<const NodeColumn*>> choose_columns(std::string_view names);

struct NodeQuery {
  std::vector<const NodeColumn*> columns;
  std::string pool;   // empty: all
  std::string state;  // empty: all
  std::string text;   // a part of the name; empty: all
  std::size_t offset = 0;
  std::size_t limit = SIZE_MAX;
};
// {"total":…,"columns":{"name":[…],…}}
std::string nodes_document(const View& view, const NodeQuery& query);
void write_row(base::JsonWriter& json, const NodeRow& row);  // as an array, in the order of node_columns()

std::string_view line_phase_word(model::LinePhase phase);

// Of offline use, as the operator sets it.
struct Price {
  std::int64_t per_core_hour_micro = 0;  // millionths of the currency
  std::string currency;                  // "EUR": only a label
};
// "0.03 EUR".
Result<Price> parse_price(std::string_view text);

struct SummaryHead {
  std::string_view cluster;
  bool read_only = true;
  std::optional<Price> price{};
};
std::string summary_document(View& view, const SummaryHead& head, base::WallTime now);
void write_sums(base::JsonWriter& json, const Sums& sums);

// One per pool: its line now, its sums, its orders.
std::string pools_document(View& view, base::WallTime now);
// The pool, its orders, and its line for a week. nullopt: there is no such pool.
std::optional<std::string> pool_document(View& view, std::string_view pool, base::WallTime now);

std::string problems_document(const View& view);
// Sums over time; a member without a fresh report is null.
std::string history_document(const View::PointsOfTime& points, base::Duration step);

// One node in full.
struct NodeDetail {
  const kube::Node& node;  // with the messages of its conditions
  const NodeRow& row;
  std::span<const Task* const> tasks;
  std::vector<model::PodUsage> uses;  // of its pods, as the agent reports
  Result<Json> explanation;           // as `tidemark explain node -o json` prints it
};
std::string node_document(const NodeDetail& detail, base::WallTime now);

}  // namespace tidemark::console
