#include "cli/override.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "cli/cluster_now.h"
#include "cli/pools.h"
#include "kube/decode.h"
#include "manager/specs/node_slo.h"
#include "manager/state/desired_store.h"
#include "policy/overcommit/writes.h"
#include "policy/render/override_text.h"

namespace tidemark::cli {
namespace {

using base::cat;
using policy::LinePhase;

constexpr int kStoreTriesMax = 10;
constexpr base::Duration kLookEvery = std::chrono::seconds(2);

std::string scope_text(std::string_view pool) {
  return pool.empty() ? "cluster" : cat("pool ", pool);
}

// Read, changed, and written over the revision that was read.
net::Task<Result<policy::OverrideCommanded>> store(net::EventLoop& loop, kube::Client& client,
                                                   const OverrideOptions& options) {
  const auto& ns = options.settings.config_namespace;
  for (int attempt = 0; attempt < kStoreTriesMax; ++attempt) {
    TM_CO_TRY(const auto stored, co_await manager::read_desired(client, ns, options.settings.limit));
    TM_CO_TRY(const auto before, overrides_in(stored));
    TM_CO_TRY(auto commanded, policy::command_override(before, options.pool, options.command, loop.clock().wall()));
    if (commanded.effect != policy::OverrideEffect::kSet || options.dry_run) co_return commanded;
    auto written = co_await manager::write_overrides(
        client, ns, stored.revision, policy::format_overrides(commanded.overrides), options.settings.limit);
    if (written) co_return commanded;
    const auto kind = written.error().kind;
    if (kind != ErrorKind::kConflict && kind != ErrorKind::kAlreadyExists) {
      co_return std::unexpected(std::move(written).error().within("storing the override"));
    }
  }
  co_return fail(ErrorKind::kConflict, "what is ordered for the cluster changed ", kStoreTriesMax,
                 " times while this override was stored; nothing was done");
}

// What a pool is to know of the override beside where its line goes.
std::vector<std::string> notes_of(const PoolLine& pool, const policy::LineOverride& given,
                                  const policy::LinePlan& after, base::WallTime now) {
  std::vector<std::string> notes;
  const auto& calendar = pool.calendar();
  const auto points = policy::preview(calendar, pool.base_cpu, pool.base_memory, {}, now, given.until - now);
  for (const auto& point : points) {
    const auto& terms = point.plan.cpu.phase == LinePhase::kFrozen ? point.plan.cpu : point.plan.memory;
    if (terms.phase != LinePhase::kFrozen || !terms.entry) continue;
    notes.push_back(cat("the freeze ", calendar.entries[*terms.entry].name,
                        " of the calendar is in force in that time (", base::format_rfc3339(point.at),
                        "): the override outranks it"));
    break;
  }
  if (after.cpu.sell < after.cpu.hold || after.memory.sell < after.memory.hold) {
    notes.push_back(cat("the line falls within the lead of the calendar (", base::format_go_duration(calendar.lead),
                        "): what runs may use more than is sold to new work"));
  }
  if (const auto* all = pool.overrides.of(""); all != nullptr && now < all->until) {
    notes.push_back(cat("the whole cluster is overridden too (", override_text(*all), "): the lower line holds"));
  }
  if (pool.settings().modes.capacity == policy::Mode::kObserve) {
    notes.emplace_back("the pool is only observed by its settings: nothing is written to its nodes");
  }
  if (pool.other_base > 0) {
    notes.push_back(cat(pool.other_base, " of its nodes have another base line by settings of their own"));
  }
  return notes;
}

Json line_json(const policy::LinePlan& line) {
  const auto side = [](const policy::LineTerms& terms) {
    return Json::object({{"holdPercent", terms.hold}, {"sellPercent", terms.sell}});
  };
  return Json::object({{"cpu", side(line.cpu)}, {"memory", side(line.memory)}});
}

std::string side_text(std::string_view name, const policy::LineTerms& before, const policy::LineTerms& after) {
  const auto one = [](const policy::LineTerms& terms) {
    return terms.hold == terms.sell ? cat(terms.sell, " %") : cat(terms.hold, " % (", terms.sell, " % sold)");
  };
  return before.hold == after.hold && before.sell == after.sell
             ? cat("  ", name, ": stays at ", one(after), "\n")
             : cat("  ", name, ": ", one(before), " -> ", one(after), "\n");
}

// One look at whether the nodes of the scope follow the override.
net::Task<Result<OverrideWait>> look(net::EventLoop& loop, kube::Client& client, const OverrideOptions& options) {
  ClusterNow now;
  TM_CO_TRY_VOID(co_await read_cluster(
      loop, client, {options.settings.config_namespace, options.settings.config_name, options.settings.limit}, now));
  std::map<std::string, manager::NodeSloProjection, std::less<>> slos;
  auto listed = co_await client.list(
      kube::kNodeSlos, {},
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(auto slo, manager::decode_node_slo_projection(item, now.interner));
          std::string name(slo.meta.name);
          slos.insert_or_assign(std::move(name), std::move(slo));
          return {};
        }));
        return {};
      },
      [&] { slos.clear(); }, options.settings.limit);
  if (!listed && listed.error().kind != ErrorKind::kNotFound) {
    co_return std::unexpected(std::move(listed).error().within("listing NodeSLOs"));
  }
  OverrideWait out;
  for (const kube::Node& node : now.nodes) {
    TM_CO_TRY(const auto settings, manager::effective_settings(now.maps, node, options.settings.zones));
    if (!options.pool.empty() && settings.pool != options.pool) continue;
    const auto decision = decided(now, node, settings.revision, {}, loop.clock());
    if (!decision.writes()) continue;  // observed, or left to somebody else
    ++out.nodes;
    const auto slo = slos.find(std::string_view(node.meta.name.view()));
    const auto told = manager::decide_node_slo(&node, slo == slos.end() ? nullptr : &slo->second, settings.revision,
                                               loop.clock().wall(), now.overrides_known());
    const bool offers = decision.plan().action == policy::PlanAction::kHold ||
                        !policy::needs_write(decision.snapshot.published, decision.plan().publish, base::Duration(0),
                                             decision.strategy().values)
                             .write;
    const bool agent = told.plan.action == manager::NodeObjectPlan::Action::kNone;
    if (!agent || !offers) out.not_reached.emplace_back(node.meta.name.view());
  }
  std::ranges::sort(out.not_reached);
  out.reached = out.not_reached.empty();
  co_return out;
}

}  // namespace

net::Task<Result<OverrideReport>> give_override(net::EventLoop& loop, kube::Client& client, OverrideOptions options) {
  OverrideReport report;
  report.pool = options.pool;
  report.dry_run = options.dry_run;
  std::optional<PoolLine> pool;
  if (!options.pool.empty()) {
    auto read = co_await read_pool_line(client, options.settings, options.pool);
    if (read) {
      pool = std::move(*read);
    } else if (options.command.line) {
      co_return std::unexpected(std::move(read).error());
    } else {
      // The override of a pool that is gone from the settings can still be taken back.
      report.notes.push_back(read.error().message);
    }
  }
  const base::WallTime now = loop.clock().wall();
  TM_CO_TRY(auto commanded, co_await store(loop, client, options));
  if (!pool && !options.pool.empty() && commanded.effect == policy::OverrideEffect::kNothing) {
    co_return fail(ErrorKind::kNotFound, report.notes.front());
  }
  report.effect = commanded.effect;
  report.before = std::move(commanded.before);
  report.after = std::move(commanded.after);
  if (!pool) {
    for (const auto& each : commanded.overrides.pools) {
      if (!options.pool.empty() || !report.after || now >= each.line.until) continue;
      report.notes.push_back(cat("pool ", each.pool, " has an override of its own (", override_text(each.line),
                                 "): the lower line holds"));
    }
    co_return report;
  }
  report.nodes = pool->nodes;
  const policy::LinePlan before = pool->at(now);
  pool->overrides = std::move(commanded.overrides);
  report.line = OverrideReport::Line{before, pool->at(now)};
  if (report.after) report.notes = notes_of(*pool, *report.after, report.line->after, now);
  co_return report;
}

net::Task<Result<OverrideWait>> wait_for_override(net::EventLoop& loop, kube::Client& client, OverrideOptions options,
                                                  base::Duration limit,
                                                  std::function<void(const OverrideWait&)> on_progress) {
  const base::MonotonicTime deadline = loop.clock().monotonic() + limit;
  while (true) {
    TM_CO_TRY(OverrideWait seen, co_await look(loop, client, options));
    if (on_progress) on_progress(seen);
    if (seen.reached || loop.clock().monotonic() + kLookEvery > deadline) co_return seen;
    co_await loop.sleep(kLookEvery);
  }
}

std::string render_text(const OverrideReport& report) {
  std::string out = cat("override ", scope_text(report.pool), report.dry_run ? " (dry run, nothing was written)" : "");
  switch (report.effect) {
    case policy::OverrideEffect::kAlready:
      out += cat(": in force already: ", override_text(*report.after));
      break;
    case policy::OverrideEffect::kNothing:
      out += ": there is none, nothing to take back";
      break;
    case policy::OverrideEffect::kSet:
      out += report.after ? cat(": ", override_text(*report.after)) : ": taken back, the calendar holds";
      if (report.before) out += cat("; before: ", override_text(*report.before));
      break;
  }
  out += "\n";
  if (report.line) {
    out += side_text("cpu", report.line->before.cpu, report.line->after.cpu);
    out += side_text("memory", report.line->before.memory, report.line->after.memory);
  }
  if (report.nodes) out += cat("  nodes of the pool now: ", *report.nodes, "\n");
  for (const auto& note : report.notes) out += cat("note: ", note, "\n");
  return out;
}

Json render_json(const OverrideReport& report) {
  constexpr std::string_view kEffects[] = {"set", "already", "nothing"};
  Json out = Json::object({{"schema", 1},
                           {"scope", Json(report.pool.empty() ? "cluster" : "pool")},
                           {"dryRun", report.dry_run},
                           {"effect", Json(kEffects[static_cast<std::size_t>(report.effect)])}});
  if (!report.pool.empty()) out["pool"] = Json(report.pool);
  out["before"] = report.before ? policy::override_json(*report.before) : Json(nullptr);
  out["override"] = report.after ? policy::override_json(*report.after) : Json(nullptr);
  if (report.nodes) out["nodes"] = Json(static_cast<std::int64_t>(*report.nodes));
  if (report.line) {
    out["line"] = Json::object({{"before", line_json(report.line->before)}, {"after", line_json(report.line->after)}});
  }
  out["notes"] = Json::array();
  for (const auto& note : report.notes) out["notes"].as_array().push_back(Json(note));
  return out;
}

}  // namespace tidemark::cli
