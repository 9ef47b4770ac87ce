#include "cli/plan_text.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tidemark::cli {
namespace {

using base::cat;
using operate::NodeChange;
using operate::Offered;
using operate::PlanSum;
using operate::SettingsPlan;

std::string cores(std::int64_t milli) {
  return cat(milli / 1000, ".", std::abs(milli) % 1000 / 100);
}
std::string gib(std::int64_t bytes) {
  return cat(bytes >> 30, ".", ((bytes & ((std::int64_t{1} << 30) - 1)) * 10) >> 30);
}
// "1.0 -> 2.0 -> 8.0 cores": now, by the next step, in the end; what stays is said once.
std::string between(const std::string& before, const std::string& after, const std::string& end,
                    std::string_view unit) {
  if (after == end) return before == end ? cat(end, unit) : cat(before, " -> ", end, unit);
  return cat(before, " -> ", after, " -> ", end, unit);
}

std::string sum_line(std::string_view name, const PlanSum& sum) {
  return cat(name, ": ", sum.changed, " of ", sum.nodes, " nodes change; batch ",
             between(cores(sum.before.batch_cpu), cores(sum.after.batch_cpu), cores(sum.end.batch_cpu), " cores"), ", ",
             between(gib(sum.before.batch_memory), gib(sum.after.batch_memory), gib(sum.end.batch_memory), " GiB"),
             "; mid ", between(cores(sum.before.mid_cpu), cores(sum.after.mid_cpu), cores(sum.end.mid_cpu), " cores"),
             ", ", between(gib(sum.before.mid_memory), gib(sum.after.mid_memory), gib(sum.end.mid_memory), " GiB"),
             sum.slo_changed == 0 ? "" : cat("; NodeSLO of ", sum.slo_changed),
             sum.off == 0 ? "" : cat("; ", sum.off, " off"), "\n");
}

}  // namespace

std::string problems_text(const SettingsPlan& plan) {
  std::string out = "the new settings cannot be used:\n";
  for (const auto& problem : plan.problems) out += cat("  ", problem.text, "\n");
  return out;
}

std::string plan_text(const SettingsPlan& plan, std::size_t shown_max) {
  std::string out;
  for (const auto& warning : plan.warnings) out += cat("warning: ", warning, "\n");
  const auto sums = sums_of(plan.nodes);
  const auto changed = changes_by_size(plan.nodes);
  for (std::size_t i = 0; i < std::min(shown_max, changed.size()); ++i) {
    const NodeChange& node = changed[i];
    out += cat(
        node.node, " (",
        node.before.pool == node.after.pool ? node.after.pool : cat(node.before.pool, " -> ", node.after.pool),
        "): batch ",
        between(cores(node.before.batch_cpu), cores(node.after.batch_cpu), cores(node.end.batch_cpu), " cores"), ", ",
        between(gib(node.before.batch_memory), gib(node.after.batch_memory), gib(node.end.batch_memory), " GiB"));
    if (node.before.mid_cpu != node.end.mid_cpu || node.before.mid_memory != node.end.mid_memory) {
      out += cat(
          "; mid ", between(cores(node.before.mid_cpu), cores(node.after.mid_cpu), cores(node.end.mid_cpu), " cores"),
          ", ", between(gib(node.before.mid_memory), gib(node.after.mid_memory), gib(node.end.mid_memory), " GiB"));
    }
    if (!node.slo_parts.empty()) out += cat("; NodeSLO: ", base::join(node.slo_parts, ", "));
    out += cat(" [", model::reason_id(node.after.reason), "]\n");
  }
  if (changed.size() > shown_max) out += cat("… and ", changed.size() - shown_max, " nodes more\n");
  for (const auto& [pool, sum] : sums) {
    if (!pool.empty()) out += sum_line(cat("pool ", pool), sum);
  }
  out += sum_line("all", sums.at(""));
  for (const auto& note : plan.notes) out += cat("note: ", note, "\n");
  return out;
}

}  // namespace tidemark::cli
