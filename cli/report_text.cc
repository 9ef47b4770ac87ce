#include "cli/report_text.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/explain/override_text.h"
#include "policy/explain/state_text.h"

namespace tidemark::cli {
namespace {

using operate::BatchAmounts;
using operate::NodesReport;
using operate::ReportedNode;

constexpr std::size_t kShownMax = 100;  // lines of text; JSON has all

struct Sum {
  std::size_t nodes = 0;
  std::size_t different = 0;
  BatchAmounts in_force;
  BatchAmounts wanted;
  std::map<std::string, std::size_t> states;  // how many nodes, by word
};

std::string state_word(const manager::NodePermit& permit) {
  return permit.left.reason ? "left to another writer" : policy::explain::state_words(permit.state);
}

std::map<std::string, Sum> sums_of(const std::vector<ReportedNode>& rows) {
  std::map<std::string, Sum> sums;
  for (const ReportedNode& row : rows) {
    Sum& sum = sums[row.permit.pool];
    ++sum.nodes;
    sum.different += row.wanted == row.in_force ? 0 : 1;
    sum.in_force += row.in_force;
    sum.wanted += row.wanted;
    ++sum.states[state_word(row.permit)];
  }
  return sums;
}

std::string milli_cores(std::int64_t milli) {
  return base::cat(milli, "m");
}
std::string signed_text(std::int64_t value, std::string_view unit) {
  return base::cat(value > 0 ? "+" : "", value, unit);
}

// Of the cluster where `pool` is empty.
const policy::waterline::LineOverride* override_of(const NodesReport& report, std::string_view pool) {
  const auto* line = report.overrides ? report.overrides->of(pool) : nullptr;
  return line != nullptr && report.now < line->until ? line : nullptr;
}

std::string override_line(const NodesReport& report, std::string_view pool) {
  const auto* line = override_of(report, pool);
  if (line == nullptr) return "";
  return base::cat(pool.empty() ? "cluster" : "  ", pool.empty() ? ": " : "",
                   "water line overridden: ", policy::explain::override_text(*line), "\n");
}

std::string states_text(const NodesReport& report, bool all) {
  std::string out = override_line(report, "");
  for (const auto& [pool, sum] : sums_of(report.nodes)) {
    std::string states;
    for (const auto& [word, nodes] : sum.states) states += base::cat(states.empty() ? "" : ", ", nodes, " ", word);
    out += base::cat("pool ", pool, ": ", sum.nodes, sum.nodes == 1 ? " node: " : " nodes: ", states, "\n");
    out += override_line(report, pool);
  }
  std::size_t shown = 0;
  for (const ReportedNode& row : report.nodes) {
    if (!all && !manager::condition_of(row.permit)) continue;
    if (++shown <= kShownMax) out += base::cat("  ", row.name, ": ", manager::node_permit_text(row.permit), "\n");
  }
  if (shown > kShownMax) out += base::cat("  and ", shown - kShownMax, " more; -o json shows all\n");
  return out;
}

std::string difference_text(const NodesReport& report, bool all) {
  std::string out = override_line(report, "");
  for (const auto& [pool, sum] : sums_of(report.nodes)) {
    out += base::cat("pool ", pool, ": ", sum.nodes, sum.nodes == 1 ? " node, " : " nodes, ", sum.different,
                     " different\n  batch-cpu     in force ", milli_cores(sum.in_force.cpu_milli), ", would be ",
                     milli_cores(sum.wanted.cpu_milli), " (",
                     signed_text(sum.wanted.cpu_milli - sum.in_force.cpu_milli, "m"), ")\n  batch-memory  in force ",
                     sum.in_force.memory_bytes, ", would be ", sum.wanted.memory_bytes, " (",
                     signed_text(sum.wanted.memory_bytes - sum.in_force.memory_bytes, ""), " bytes)\n");
    out += override_line(report, pool);
  }
  std::size_t shown = 0;
  for (const ReportedNode& row : report.nodes) {
    if (!all && row.wanted == row.in_force) continue;
    if (++shown > kShownMax) continue;
    out += base::cat("  ", row.name, " (", state_word(row.permit), "): batch-cpu ", milli_cores(row.in_force.cpu_milli),
                     " -> ", milli_cores(row.wanted.cpu_milli), ", batch-memory ", row.in_force.memory_bytes, " -> ",
                     row.wanted.memory_bytes, "  ", row.held ? "stays: " : "", model::reason_sentence(row.reason), " [",
                     model::reason_id(row.reason), "]\n");
  }
  if (shown > kShownMax) out += base::cat("  and ", shown - kShownMax, " more; -o json shows all\n");
  return out;
}

Json amounts_json(const BatchAmounts& amounts) {
  return Json::object({{"batchCpuMilli", Json(amounts.cpu_milli)}, {"batchMemoryBytes", Json(amounts.memory_bytes)}});
}

}  // namespace

std::string render_text(const NodesReport& report, operate::ReportOf about, bool all) {
  std::string out = about == operate::ReportOf::kStates ? states_text(report, all) : difference_text(report, all);
  if (!report.overrides) out += "note: the overrides of the water line (ConfigMap tidemark-state) cannot be read\n";
  if (!report.orders_known) out += "note: what was ordered for the cluster (ConfigMap tidemark-state) cannot be read\n";
  return out.empty() ? std::string("no nodes\n") : out;
}

Json render_json(const NodesReport& report, operate::ReportOf about) {
  const bool difference = about == operate::ReportOf::kDifference;
  Json out = Json::object({{"schema", 1}, {"report", Json(difference ? "difference" : "states")}});
  if (const auto* line = override_of(report, "")) out["override"] = policy::explain::override_json(*line);
  Json pools = Json::array();
  for (const auto& [pool, sum] : sums_of(report.nodes)) {
    Json entry = Json::object({{"pool", Json(pool)}, {"nodes", Json(static_cast<std::int64_t>(sum.nodes))}});
    Json states = Json::object();
    for (const auto& [word, nodes] : sum.states) states[word] = Json(static_cast<std::int64_t>(nodes));
    entry["states"] = std::move(states);
    if (const auto* line = override_of(report, pool)) entry["override"] = policy::explain::override_json(*line);
    if (difference) {
      entry["different"] = Json(static_cast<std::int64_t>(sum.different));
      entry["inForce"] = amounts_json(sum.in_force);
      entry["wouldBe"] = amounts_json(sum.wanted);
    }
    pools.as_array().push_back(std::move(entry));
  }
  out["pools"] = std::move(pools);
  Json nodes = Json::array();
  for (const ReportedNode& row : report.nodes) {
    Json entry = Json::object({{"name", Json(row.name)}, {"pool", Json(row.permit.pool)}});
    entry["state"] = policy::explain::render_json(row.permit.state);
    entry["writes"] = Json(row.permit.writes());
    entry["text"] = Json(manager::node_permit_text(row.permit));
    if (difference) {
      entry["inForce"] = amounts_json(row.in_force);
      entry["wouldBe"] = amounts_json(row.wanted);
      entry["reason"] = Json(model::reason_id(row.reason));
    }
    nodes.as_array().push_back(std::move(entry));
  }
  out["nodes"] = std::move(nodes);
  return out;
}

}  // namespace tidemark::cli
