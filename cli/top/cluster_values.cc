#include "cli/top/cluster_values.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/local/tasks.h"
#include "console/documents.h"
#include "model/reason.h"
#include "policy/explain/cluster_doctor_text.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr base::Duration kSilent = std::chrono::seconds(15);  // one missed watch is no news

std::string_view plain_name(std::string_view source) {
  return source == "nodeMetrics" ? "NodeMetrics" : source;
}

std::vector<std::string> troubles_of(const console::View& view) {
  std::vector<std::string> out;
  for (const console::SourceState& source : view.sources()) {
    const std::string_view name = plain_name(source.name);
    if (!source.synced) out.push_back(cat(name, " are not read yet; what depends on them is unknown"));
    if (source.synced && source.silent && *source.silent >= kSilent) {
      out.push_back(cat("no answer about ", name, " for ", age_text(*source.silent), "; the values are of then"));
    }
    if (source.incomplete) out.push_back(cat("there are more ", name, " than fit; sums are too low"));
  }
  return out;
}

std::string line_words(const model::LineTerms& terms, const policy::waterline::Calendar& calendar) {
  std::string out(model::reason_sentence(terms.reason));
  if (terms.entry && *terms.entry < calendar.entries.size()) {
    out += cat(" (", calendar.entries[*terms.entry].name, ")");
  }
  return cat(out, " [", model::reason_id(terms.reason), "]");
}

TopPool pool_of(console::View& view, const model::Pool& pool, base::WallTime now) {
  TopPool out;
  out.name = pool.name;
  out.mode = to_string(pool.modes.capacity);
  if (const auto sums = view.pool_sums().find(pool.name); sums != view.pool_sums().end()) out.sums = sums->second;
  if (!view.known().settings) return out;
  console::Settings& settings = view.settings();
  const model::LinePlan line = settings.line(pool, settings.strategy_of(pool), now);
  const policy::waterline::Calendar& calendar = settings.calendar_of(pool);
  out.cpu_line = line.cpu.hold;
  out.memory_line = line.memory.hold;
  out.why = cat("CPU ", line.cpu.hold, " %: ", line_words(line.cpu, calendar), "\nmemory ", line.memory.hold,
                " %: ", line_words(line.memory, calendar));
  if (line.changes_at) out.why += cat("\nchanges at ", base::format_rfc3339(*line.changes_at));
  return out;
}

std::vector<TopProblem> problems_of(const console::View& view) {
  const Json rendered = policy::explain::render_json(view.findings());
  const Json& texts = *rendered.member("findings");
  std::vector<TopProblem> out;
  for (std::size_t i = 0; i < view.findings().size(); ++i) {
    const policy::explain::ClusterFinding& finding = view.findings()[i];
    const Json& text = texts.as_array()[i];
    TopProblem problem;
    problem.severity = finding.severity;
    problem.what = text.text_at("what");
    problem.found = text.text_at("found");
    problem.fix = text.text_at("fix");
    problem.nodes = finding.nodes;
    for (const policy::explain::NodeGroup& group : finding.groups) {
      problem.names.insert(problem.names.end(), group.names.begin(), group.names.end());
    }
    out.push_back(std::move(problem));
  }
  return out;
}

}  // namespace

ClusterValues cluster_values(console::View& view, std::string_view cluster, bool writes, base::WallTime now) {
  ClusterValues out;
  out.now = now;
  out.cluster = cluster;
  out.writes = writes;
  out.read = !view.rows().empty() || view.synced();
  out.judged = view.known().reports && view.known().settings;
  out.troubles = troubles_of(view);
  out.sums = view.sums();
  for (const auto& [name, row] : view.rows()) out.nodes.push_back(&row);
  std::ranges::sort(out.nodes, {}, [](const console::NodeRow* row) { return std::tie(row->pool, row->name); });
  for (const model::Pool& pool : view.settings().pools().pools) out.pools.push_back(pool_of(view, pool, now));
  out.pools.push_back(pool_of(view, view.settings().pools().rest, now));
  out.problems = problems_of(view);
  return out;
}

std::string cluster_json(console::View& view, std::string_view cluster, bool writes, base::WallTime now) {
  const auto pools = Json::parse(console::pools_document(view, now));
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  json.member("schema", 1);
  json.key("summary").raw(console::summary_document(view, {cluster, !writes}, now));
  json.key("pools").raw(pools ? pools->member("pools")->dump() : "[]");
  json.key("nodes").raw(console::nodes_document(view, {*console::choose_columns({}), {}, {}, {}}));
  json.key("problems").raw(console::problems_document(view));
  json.end_object();
  return out;
}

}  // namespace tidemark::cli
