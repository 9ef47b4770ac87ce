#include "cli/join_text.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/explain/cluster_doctor_text.h"
#include "policy/explain/state_text.h"

namespace tidemark::cli {
namespace {

using base::cat;
using operate::JoinedNode;
using operate::JoinStep;

std::vector<std::string> words_of(const JoinedNode& node) {
  std::vector<std::string> out;
  if (node.steps.observe) out.emplace_back("observe");
  if (node.steps.label) out.emplace_back("pool");
  if (node.steps.on) out.emplace_back("on");
  return out;
}

std::string plan_line(const JoinedNode& node) {
  std::vector<std::string> steps;
  if (node.steps.observe) steps.emplace_back("observe");
  if (node.steps.label) steps.push_back(cat("pool ", node.pool_before, " -> ", node.pool_after));
  if (node.steps.on) {
    steps.emplace_back(
        node.agent == operate::AgentReports::kFresh ? "on" : "wait for its agent, which does not report, then on");
  }
  return steps.empty() ? "nothing to do" : base::join(steps, ", then ");
}

std::string done_line(const JoinedNode& node) {
  return cat(policy::explain::state_words(node.state), ", pool ", node.pool_after,
             node.steps.any() ? "" : ", as before");
}

}  // namespace

std::string progress_text(const operate::JoinProgress& progress) {
  constexpr std::string_view kWords[] = {"read", "observed", "in the pool", "with a fresh report of the agent", "on"};
  return cat(kWords[static_cast<std::size_t>(progress.step)], "  ", progress.done, " of ", progress.nodes);
}

std::string render_text(const operate::JoinReport& report) {
  std::size_t failed = 0;
  for (const JoinedNode& node : report.nodes) failed += node.problem.empty() ? 0 : 1;
  const std::size_t good = report.nodes.size() - failed;
  std::string out =
      cat("join", report.dry_run ? " (dry run, nothing was written)" : "", ": ", report.nodes.size(),
          report.nodes.size() == 1 ? " node, " : " nodes, ", good, report.dry_run ? " would join" : " done");
  if (failed > 0) out += cat(", ", failed, report.dry_run ? " would not" : " not");
  out += "\n";
  for (const JoinedNode& node : report.nodes) {
    const std::string said = report.dry_run ? plan_line(node) : done_line(node);
    out += cat("  ", node.name, ": ", node.problem.empty() ? said : node.problem, "\n");
  }
  return out + policy::explain::render_text(report.preflight);
}

Json render_json(const operate::JoinReport& report) {
  Json nodes = Json::array();
  for (const JoinedNode& node : report.nodes) {
    const std::vector<std::string> words = words_of(node);
    nodes.as_array().push_back(
        Json::object({{"name", node.name},
                      {"poolBefore", node.pool_before},
                      {"poolAfter", node.pool_after},
                      {"steps", Json(Json::Array(words.begin(), words.end()))},
                      {"state", to_string(node.state.strictest())},
                      {"agent", to_string(node.agent)},
                      {"reported", node.reported ? Json(base::format_rfc3339(*node.reported)) : Json()},
                      {"problem", node.problem.empty() ? Json() : Json(node.problem)}}));
  }
  return Json::object({{"schema", 1},
                       {"verb", "join"},
                       {"dryRun", report.dry_run},
                       {"failed", report.failed()},
                       {"preflight", policy::explain::render_json(report.preflight)},
                       {"nodes", std::move(nodes)}});
}

}  // namespace tidemark::cli
