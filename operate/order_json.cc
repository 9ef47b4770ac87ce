#include "operate/order_json.h"

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/explain/state_text.h"

namespace tidemark::operate {
namespace {

Json names_json(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const auto& name : names) list.as_array().push_back(Json(name));
  return list;
}

bool carries_order(OrderOutcome outcome) {
  return outcome == OrderOutcome::kWritten || outcome == OrderOutcome::kAlready || outcome == OrderOutcome::kGone;
}

}  // namespace

std::string_view scope_word(OrderScope scope) {
  switch (scope) {
    case OrderScope::kNode:
      return "node";
    case OrderScope::kPool:
      return "pool";
    case OrderScope::kCluster:
      break;
  }
  return "cluster";
}

std::array<std::size_t, 7> counts_of(const OrderReport& report) {
  std::array<std::size_t, 7> counts{};
  for (const auto& node : report.nodes) ++counts.at(static_cast<std::size_t>(node.outcome));
  return counts;
}

bool has_state(OrderOutcome outcome) {
  return outcome != OrderOutcome::kGone && outcome != OrderOutcome::kFailed;
}

Json render_json(const OrderReport& report, const OrderOptions& options, NodesShown shown) {
  Json out = Json::object(
      {{"schema", 1}, {"verb", Json(to_string(options.command.wish))}, {"scope", Json(scope_word(options.scope))}});
  if (!options.pool.empty()) out["pool"] = Json(options.pool);
  out["only"] = names_json(policy::state::part_words(options.command.only));
  out["dryRun"] = report.dry_run;
  out["stored"] = report.stored || report.was_stored;
  out["notes"] = names_json(report.notes);
  if (!report.incomplete.empty()) out["incomplete"] = Json(report.incomplete);
  Json counts = Json::object();
  for (std::size_t i = 0; i < counts_of(report).size(); ++i) {
    counts[to_string(static_cast<OrderOutcome>(i))] = static_cast<std::int64_t>(counts_of(report).at(i));
  }
  out["counts"] = std::move(counts);
  Json nodes = Json::array();
  for (const auto& node : report.nodes) {
    if (shown == NodesShown::kProblems) {
      if (carries_order(node.outcome)) continue;
      if (nodes.as_array().size() >= kProblemsShown) break;
    }
    Json entry = Json::object({{"name", Json(node.name)}, {"outcome", Json(to_string(node.outcome))}});
    if (has_state(node.outcome)) {
      const Json state = policy::explain::render_json(node.state);
      for (const auto& [key, value] : state.as_object()) entry[key] = value;
    }
    if (!node.problem.empty()) entry["problem"] = Json(node.problem);
    nodes.as_array().push_back(std::move(entry));
  }
  out["nodes"] = std::move(nodes);
  return out;
}

}  // namespace tidemark::operate
