#include "operate/override.h"

#include <utility>

#include "base/text.h"
#include "manager/state/desired_store.h"
#include "operate/pools.h"
#include "policy/explain/override_text.h"

namespace tidemark::operate {
namespace {

using base::cat;
using model::LinePhase;

constexpr int kOverrideTriesMax = 10;

// Read, changed, and written over the revision that was read.
net::Task<Result<policy::state::OverrideCommanded>> store(net::EventLoop& loop, kube::Client& client,
                                                          const OverrideOptions& options) {
  const auto& ns = options.settings.config_namespace;
  for (int attempt = 0; attempt < kOverrideTriesMax; ++attempt) {
    TM_CO_TRY(const auto stored, co_await manager::read_desired(client, ns, options.settings.limit));
    TM_CO_TRY(const auto before, overrides_in(stored));
    TM_CO_TRY(auto commanded,
              policy::state::command_override(before, options.pool, options.command, loop.clock().wall()));
    if (commanded.effect != policy::state::OverrideEffect::kSet || options.dry_run) co_return commanded;
    auto written = co_await manager::write_overrides(
        client, ns, stored.revision, policy::state::format_overrides(commanded.overrides), options.settings.limit);
    if (written) co_return commanded;
    const auto kind = written.error().kind;
    if (kind != ErrorKind::kConflict && kind != ErrorKind::kAlreadyExists) {
      co_return std::unexpected(std::move(written).error().within("storing the override"));
    }
  }
  co_return fail(ErrorKind::kConflict, "the orders of the cluster changed ", kOverrideTriesMax,
                 " times while this override was stored; nothing was done");
}

// What a pool is to know of the override beside where its line goes.
std::vector<std::string> notes_of(const PoolLine& pool, const policy::waterline::LineOverride& given,
                                  const model::LinePlan& after, base::WallTime now) {
  std::vector<std::string> notes;
  const auto& calendar = pool.calendar();
  const auto points = policy::waterline::preview(calendar, pool.base_cpu, pool.base_memory, {}, now, given.until - now);
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
    notes.push_back(
        cat("the whole cluster is overridden too (", policy::explain::override_text(*all), "): the lower line holds"));
  }
  if (pool.settings().modes.capacity == model::Mode::kObserve) {
    notes.emplace_back("the pool is only observed by its settings: nothing is written to its nodes");
  }
  if (pool.other_base > 0) {
    notes.push_back(cat(pool.other_base, " of its nodes have another base line by settings of their own"));
  }
  return notes;
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
      // The override of a pool that is gone from the settings can still be removed.
      report.notes.push_back(read.error().message);
    }
  }
  const base::WallTime now = loop.clock().wall();
  TM_CO_TRY(auto commanded, co_await store(loop, client, options));
  if (!pool && !options.pool.empty() && commanded.effect == policy::state::OverrideEffect::kNothing) {
    co_return fail(ErrorKind::kNotFound, report.notes.front());
  }
  report.effect = commanded.effect;
  report.before = std::move(commanded.before);
  report.after = std::move(commanded.after);
  if (!pool) {
    for (const auto& each : commanded.overrides.pools) {
      if (!options.pool.empty() || !report.after || now >= each.line.until) continue;
      report.notes.push_back(cat("pool ", each.pool, " has an override of its own (",
                                 policy::explain::override_text(each.line), "): the lower line holds"));
    }
    co_return report;
  }
  report.nodes = pool->nodes;
  const model::LinePlan before = pool->at(now);
  pool->overrides = std::move(commanded.overrides);
  report.line = OverrideReport::Line{before, pool->at(now)};
  if (report.after) report.notes = notes_of(*pool, *report.after, report.line->after, now);
  co_return report;
}

}  // namespace tidemark::operate
