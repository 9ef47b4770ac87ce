#include "cli/order_text.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "policy/explain/state_text.h"

namespace tidemark::cli {
namespace {

using operate::OrderedNode;
using operate::OrderOptions;
using operate::OrderOutcome;
using operate::OrderReport;
using operate::OrderScope;

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

Json names_json(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const auto& name : names) list.as_array().push_back(Json(name));
  return list;
}

std::array<std::size_t, 7> counts_of(const OrderReport& report) {
  std::array<std::size_t, 7> counts{};
  for (const auto& node : report.nodes) ++counts.at(static_cast<std::size_t>(node.outcome));
  return counts;
}

bool has_state(OrderOutcome outcome) {
  return outcome != OrderOutcome::kGone && outcome != OrderOutcome::kFailed;
}

}  // namespace

std::string render_text(const OrderReport& report, const OrderOptions& options) {
  constexpr std::size_t kShownMax = 50;
  const auto counts = counts_of(report);
  const auto count = [&](OrderOutcome outcome) { return counts.at(static_cast<std::size_t>(outcome)); };
  std::string out = base::cat(to_string(options.command.wish), " ", scope_word(options.scope));
  if (!options.pool.empty()) out += base::cat(" ", options.pool);
  out += base::cat(report.dry_run ? " (dry run, nothing was written): " : ": ", report.nodes.size(),
                   report.nodes.size() == 1 ? " node, " : " nodes, ", count(OrderOutcome::kWritten),
                   report.dry_run ? " would be marked" : " marked");
  for (const auto& [outcome, words] : {std::pair{OrderOutcome::kAlready, "marked already"},
                                       {OrderOutcome::kNothing, "unchanged: that part is not off"},
                                       {OrderOutcome::kGone, "gone meanwhile"},
                                       {OrderOutcome::kSuperseded, "skipped: a later order exists"},
                                       {OrderOutcome::kRefused, "entirely off, not only a class"},
                                       {OrderOutcome::kFailed, "failed"}}) {
    if (count(outcome) > 0) out += base::cat(", ", count(outcome), " ", words);
  }
  out += "\n";
  if (!report.incomplete.empty()) {
    out += base::cat("NOT ALL NODES: ", report.incomplete, "\n  those above are done",
                     report.stored || report.was_stored ? ", the order is stored for those that join later" : "",
                     "; repeat the order for the rest\n");
  }
  for (const auto& note : report.notes) out += base::cat("note: ", note, "\n");

  // What holds now, where that is not what was asked for: a wider order is stricter.
  std::size_t shown = 0;
  for (const auto& node : report.nodes) {
    const bool problem = node.outcome == OrderOutcome::kFailed;
    const bool stricter = has_state(node.outcome) && options.command.wish != policy::state::Wish::kOff &&
                          node.state.strictest() > static_cast<model::NodeState>(options.command.wish);
    const bool alone = options.scope == OrderScope::kNode && has_state(node.outcome);
    if (!problem && !stricter && !alone && node.outcome != OrderOutcome::kSuperseded) continue;
    if (++shown > kShownMax) continue;
    out += base::cat("  ", node.name, ": ",
                     problem ? node.problem
                             : base::cat(stricter ? "still " : "", policy::explain::state_words(node.state), " (",
                                         policy::explain::decided_words(node.state), ")"),
                     "\n");
  }
  if (shown > kShownMax) out += base::cat("  and ", shown - kShownMax, " more; -o json shows all\n");
  return out;
}

Json render_json(const OrderReport& report, const OrderOptions& options) {
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

void add_json(const operate::WaitReport& waited, Json& into) {
  into["reached"] = waited.reached;
  into["nodesSilent"] = names_json(waited.silent);
  into["agentsOfOtherVersion"] = names_json(waited.other_words);
  into["withoutAgent"] = names_json(waited.without_agent);
}

}  // namespace tidemark::cli
