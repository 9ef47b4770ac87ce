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

std::string summary_document(View& view, std::string_view cluster, bool read_only, base::WallTime now);
void write_sums(base::JsonWriter& json, const Sums& sums);

// One per pool: its line now, its sums, its orders.
std::string pools_document(View& view, base::WallTime now);
// The pool, and its line for a week. nullopt: there is no such pool.
std::optional<std::string> pool_document(View& view, std::string_view pool, base::WallTime now);

struct TaskQuery {
  std::optional<std::string> work_class;  // "" is work without a class
  std::string phase;                      // "waiting", "running", "over"; empty: all
  std::string node;
  std::size_t offset = 0;
  std::size_t limit = 200;
};
// Sums by class, and one page of tasks, the youngest first.
std::string offline_document(const View& view, const TaskQuery& query);
void write_task(base::JsonWriter& json, const Task& task);

std::string problems_document(const View& view);
std::string history_document(const View& view);

// One node in full.
struct NodeDetail {
  const kube::Node& node;  // with the messages of its conditions
  const NodeRow& row;
  std::span<const Task* const> tasks;
  std::vector<model::PodUsage> uses;  // of its pods, as the agent reports
  Result<Json> explanation;           // as `tidemark explain node -o json` prints it
};
std::string node_document(const NodeDetail& detail);

}  // namespace tidemark::console
