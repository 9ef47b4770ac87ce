#include "cli/plan_changes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tidemark::cli {
namespace {

using base::cat;

struct Sum {
  std::int64_t nodes = 0;
  std::int64_t changed = 0;
  std::int64_t slo_changed = 0;
  std::int64_t off = 0;
  Offered before;
  Offered after;
  Offered end;
};

void add(Offered& sum, const Offered& more) {
  sum.batch_cpu += more.batch_cpu;
  sum.batch_memory += more.batch_memory;
  sum.mid_cpu += more.mid_cpu;
  sum.mid_memory += more.mid_memory;
}

// By the pool that a node is in afterwards; under "" all of them.
std::map<std::string, Sum> sums_of(const std::vector<NodeChange>& nodes) {
  std::map<std::string, Sum> sums;
  sums[""];
  for (const NodeChange& node : nodes) {
    for (Sum* sum : {&sums[""], &sums[node.after.pool]}) {
      ++sum->nodes;
      sum->changed += node.changes() ? 1 : 0;
      sum->slo_changed += node.slo_parts.empty() ? 0 : 1;
      sum->off += node.after.off ? 1 : 0;
      add(sum->before, node.before);
      add(sum->after, node.after);
      add(sum->end, node.end);
    }
  }
  return sums;
}

// Those that change, the largest change first.
std::vector<NodeChange> by_size(std::vector<NodeChange> nodes) {
  std::erase_if(nodes, [](const NodeChange& node) { return !node.changes(); });
  const auto size = [](const NodeChange& node) {
    return std::pair(std::abs(node.end.batch_cpu - node.before.batch_cpu),
                     std::abs(node.end.batch_memory - node.before.batch_memory));
  };
  std::sort(nodes.begin(), nodes.end(), [&](const NodeChange& a, const NodeChange& b) {
    if (size(a) != size(b)) return size(a) > size(b);
    return a.node < b.node;
  });
  return nodes;
}

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

std::string sum_line(std::string_view name, const Sum& sum) {
  return cat(name, ": ", sum.changed, " of ", sum.nodes, " nodes change; batch ",
             between(cores(sum.before.batch_cpu), cores(sum.after.batch_cpu), cores(sum.end.batch_cpu), " cores"), ", ",
             between(gib(sum.before.batch_memory), gib(sum.after.batch_memory), gib(sum.end.batch_memory), " GiB"),
             "; mid ", between(cores(sum.before.mid_cpu), cores(sum.after.mid_cpu), cores(sum.end.mid_cpu), " cores"),
             ", ", between(gib(sum.before.mid_memory), gib(sum.after.mid_memory), gib(sum.end.mid_memory), " GiB"),
             sum.slo_changed == 0 ? "" : cat("; NodeSLO of ", sum.slo_changed),
             sum.off == 0 ? "" : cat("; ", sum.off, " off"), "\n");
}

Json offered_json(const Offered& offered) {
  return Json::object({{"batchCpuMilli", offered.batch_cpu},
                       {"batchMemoryBytes", offered.batch_memory},
                       {"midCpuMilli", offered.mid_cpu},
                       {"midMemoryBytes", offered.mid_memory}});
}

Json node_json(const Offered& offered) {
  Json out = offered_json(offered);
  out["pool"] = Json(offered.pool);
  out["reason"] = Json(model::reason_id(offered.reason));
  out["off"] = Json(offered.off);
  return out;
}

Json sum_json(const Sum& sum) {
  return Json::object({{"nodes", sum.nodes},
                       {"changed", sum.changed},
                       {"nodeSlosChanged", sum.slo_changed},
                       {"off", sum.off},
                       {"before", offered_json(sum.before)},
                       {"after", offered_json(sum.after)},
                       {"end", offered_json(sum.end)}});
}

Json texts(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const auto& text : list) out.as_array().push_back(Json(text));
  return out;
}

}  // namespace

Offered offered_of(const manager::NodeDecision& decision, const std::string& pool) {
  const auto& state = decision.standing.state;
  const bool off = state.k8s >= policy::NodeState::kDraining;
  const auto& plan = off ? decision.plan() : decision.offer.plan;
  // A node that is held stays as it is.
  const auto& carries = plan.action == policy::PlanAction::kHold ? decision.snapshot.published : plan.publish;
  const auto value = [](const auto& amount) { return amount ? amount->value : 0; };
  return {value(carries.batch_cpu),
          value(carries.batch_memory),
          value(carries.mid_cpu),
          value(carries.mid_memory),
          off ? policy::reason_of(state) : plan.reason,
          pool,
          off};
}

std::vector<std::string> changed_parts(const policy::SloSpec& before, const policy::SloSpec& after) {
  std::vector<std::string> changed;
  for (std::size_t part = 0; part < before.parts.size(); ++part) {
    if (before.parts[part].text == after.parts[part].text) continue;
    changed.emplace_back(policy::slo_part_info(static_cast<policy::SloPart>(part)).key);
  }
  if (before.ours != after.ours) changed.emplace_back("agent");  // its modes, the classes of offline work
  return changed;
}

std::string plan_text(std::vector<NodeChange> nodes, const PlanView& view) {
  std::string out;
  for (const auto& warning : view.warnings) out += cat("warning: ", warning, "\n");
  const auto sums = sums_of(nodes);
  const auto changed = by_size(std::move(nodes));
  for (std::size_t i = 0; i < std::min(view.shown_max, changed.size()); ++i) {
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
  if (changed.size() > view.shown_max) out += cat("… and ", changed.size() - view.shown_max, " nodes more\n");
  for (const auto& [pool, sum] : sums) {
    if (!pool.empty()) out += sum_line(cat("pool ", pool), sum);
  }
  out += sum_line("all", sums.at(""));
  for (const auto& note : view.notes) out += cat("note: ", note, "\n");
  return out;
}

Json plan_json(std::vector<NodeChange> nodes, const PlanView& view) {
  const auto sums = sums_of(nodes);
  const auto changed = by_size(std::move(nodes));
  Json out = Json::object(
      {{"schema", 1}, {"all", sum_json(sums.at(""))}, {"pools", Json::object()}, {"nodes", Json::array()}});
  for (const auto& [pool, sum] : sums) {
    if (!pool.empty()) out["pools"][pool] = sum_json(sum);
  }
  for (std::size_t i = 0; i < std::min(view.shown_max, changed.size()); ++i) {
    out["nodes"].as_array().push_back(Json::object({{"node", Json(changed[i].node)},
                                                    {"before", node_json(changed[i].before)},
                                                    {"after", node_json(changed[i].after)},
                                                    {"end", node_json(changed[i].end)},
                                                    {"nodeSlo", texts(changed[i].slo_parts)}}));
  }
  out["left_off"] = static_cast<std::int64_t>(changed.size() - std::min(view.shown_max, changed.size()));
  out["warnings"] = texts(view.warnings);
  out["notes"] = texts(view.notes);
  return out;
}

}  // namespace tidemark::cli
