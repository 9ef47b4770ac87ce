#include "cli/off_text.h"

#include <algorithm>

#include "base/text.h"
#include "model/names.h"

namespace tidemark::cli {
namespace {

using base::cat;
using operate::AgentAnswer;
using operate::NodeProof;
using operate::OffProgress;

constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kNodesShown = 50;
constexpr base::Duration kStoredOften = std::chrono::seconds(10);  // a running command stores its progress sooner

// "[########............]", of nodes that have nothing left.
std::string bar(const OffProgress& progress) {
  const std::size_t full = progress.nodes == 0 ? kBarWidth : progress.done * kBarWidth / progress.nodes;
  return cat("[", std::string(full, '#'), std::string(kBarWidth - full, '.'), "] ");
}

std::string counts_text(const OffProgress& progress) {
  return cat("marked ", progress.marked, "  offers at 0: ", progress.offers_at_zero, "  offline pods left ",
             progress.pods_left, progress.refused == 0 ? "" : cat(" (", progress.refused, " refuse)"),
             progress.yarn_left == 0 ? "" : cat("  nodes with YARN containers ", progress.yarn_left),
             "  files restored ", progress.files_restored,
             progress.silent == 0 ? "" : cat("  nodes silent ", progress.silent), "  done ", progress.done, " of ",
             progress.nodes);
}

// " --grace 1m0s --budget 5/min, until 2026-01-02T03:04:05Z"
std::string options_text(const std::optional<operate::OffOptions>& options) {
  if (!options) return ", its other flags are unknown";
  std::string out = cat(" --grace ", base::format_go_duration(options->grace));
  if (options->per_minute > 0) out += cat(" --budget ", options->per_minute, "/min");
  if (options->at_once) out += " --at-once";
  if (options->until) out += cat(", until ", base::format_rfc3339(*options->until));
  return out;
}

std::string files_text(const NodeProof& node) {
  switch (node.agent) {
    case AgentAnswer::kNoAgent:
      return "no agent ever reported";
    case AgentAnswer::kNothing:
      return "files 0";
    case AgentAnswer::kInForce:
      return cat("kernel files in force (", node.agent_says, ")");
    case AgentAnswer::kUnconfirmed:
      break;
  }
  return cat("the agent has not confirmed; its last report is ", node.agent_says,
             "; `tidemark off --local` there restores without an agent");
}

std::string yarn_text(const model::Resources& held) {
  return cat("YARN holds ", held.cpu.value, "m and ", held.memory.value >> 20,
             " MiB by the last report of the yarn-operator");
}

std::string node_text(const NodeProof& node) {
  if (!node.not_marked.empty()) return cat("not marked: ", node.not_marked);
  std::string tasks = cat("tasks ", node.pods);
  if (node.static_pods > 0) tasks += cat(", of which static pods ", node.static_pods);
  if (node.outlived > 0) tasks += cat(", of which deleted and still there ", node.outlived);
  if (node.yarn != model::Resources()) tasks += ", " + yarn_text(node.yarn);
  if (node.yarn_unreadable) tasks += cat(", unreadable annotation ", model::kThirdPartyAllocationsAnnotation);
  std::string out = cat(node.offers ? "still offers" : "offered 0", ", ", tasks, ", ", files_text(node));
  if (node.silent) out += ", the kubelet is silent";
  for (const auto& refused : node.refused) out += cat("\n      ", refused);
  return out;
}

// Nodes that count as done without a report of an agent.
std::string without_agent_text(const OffProgress& progress) {
  std::string out;
  const auto& names = progress.without_agent;
  for (std::size_t i = 0; i < std::min(names.size(), kNodesShown); ++i) out += cat(i == 0 ? "" : ", ", names[i]);
  if (names.size() > kNodesShown) out += cat(" and ", names.size() - kNodesShown, " more");
  return out.empty() ? "" : cat("  no agent reported; kernel files were not checked: ", out, "\n");
}

}  // namespace

std::string progress_text(const OffProgress& progress, bool terminal) {
  return cat(terminal ? bar(progress) : "", counts_text(progress));
}

std::string preview_text(const operate::EvictPreview& would) {
  std::string out = cat("would evict ", would.pods - would.static_pods, " offline pods");
  if (would.static_pods > 0) out += cat("; static pods that stay: ", would.static_pods);
  if (would.nodes_with_yarn > 0) {
    out += cat("; and all YARN containers on ", would.nodes_with_yarn, would.nodes_with_yarn == 1 ? " node" : " nodes",
               ": ", yarn_text(would.yarn));
  }
  return out + "\n";
}

Json preview_json(const operate::EvictPreview& would) {
  const auto count = [](std::size_t value) { return Json(static_cast<std::int64_t>(value)); };
  return Json::object({{"pods", count(would.pods)},
                       {"staticPods", count(would.static_pods)},
                       {"nodesWithYarn", count(would.nodes_with_yarn)},
                       {"yarnCpuMilli", Json(would.yarn.cpu.value)},
                       {"yarnMemoryBytes", Json(would.yarn.memory.value)}});
}

std::string proof_text(const OffProgress& progress) {
  if (!progress.problem.empty()) return cat(progress.problem, "\n");
  std::string out =
      cat("evicted ", progress.evicted, progress.evicted == 1 ? " pod; " : " pods; ", progress.done, " of ",
          progress.nodes, progress.nodes == 1 ? " node has" : " nodes have", " offered 0, tasks 0, files 0\n");
  for (std::size_t i = 0; i < std::min(progress.nodes_left.size(), kNodesShown); ++i) {
    out += cat("  ", progress.nodes_left[i].name, ": ", node_text(progress.nodes_left[i]), "\n");
  }
  const std::size_t left = progress.nodes - progress.done;
  const std::size_t shown = std::min(progress.nodes_left.size(), kNodesShown);
  if (left > shown) out += cat("  and ", left - shown, " more\n");
  return out + without_agent_text(progress);
}

std::string stored_text(const std::vector<OffProgress>& all, base::WallTime now) {
  if (all.empty()) return "no `off --evict` is stored\n";
  std::string out;
  for (const OffProgress& each : all) {
    out += cat("off ", each.scope, " --evict", options_text(each.options), ", since ", base::format_rfc3339(each.began),
               " by ", each.by, each.why.empty() ? "" : ": ", each.why, "\n  ", counts_text(each), "\n");
    if (each.finished()) {
      out += "  finished\n" + without_agent_text(each);
      continue;
    }
    const base::Duration age = now - each.updated;
    if (!each.running || age > kStoredOften) {
      out += cat("  its command has ended, at ", base::format_rfc3339(each.updated), ": run it again to go on\n");
    }
    out += "  " + proof_text(each);
  }
  return out;
}

}  // namespace tidemark::cli
