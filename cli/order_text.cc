#include "cli/order_text.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "operate/order_json.h"
#include "policy/explain/state_text.h"

namespace tidemark::cli {
namespace {

using operate::OrderedNode;
using operate::OrderOptions;
using operate::OrderOutcome;
using operate::OrderReport;
using operate::OrderScope;

Json names_json(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const auto& name : names) list.as_array().push_back(Json(name));
  return list;
}

}  // namespace

std::string render_text(const OrderReport& report, const OrderOptions& options) {
  constexpr std::size_t kShownMax = 50;
  const auto counts = operate::counts_of(report);
  const auto count = [&](OrderOutcome outcome) { return counts.at(static_cast<std::size_t>(outcome)); };
  std::string out = base::cat(to_string(options.command.wish), " ", operate::scope_word(options.scope));
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
    const bool stricter = operate::has_state(node.outcome) && options.command.wish != policy::state::Wish::kOff &&
                          node.state.strictest() > static_cast<model::NodeState>(options.command.wish);
    const bool alone = options.scope == OrderScope::kNode && operate::has_state(node.outcome);
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

void add_json(const operate::WaitReport& waited, Json& into) {
  into["reached"] = waited.reached;
  into["nodesSilent"] = names_json(waited.silent);
  into["agentsOfOtherVersion"] = names_json(waited.other_words);
  into["withoutAgent"] = names_json(waited.without_agent);
}

}  // namespace tidemark::cli
