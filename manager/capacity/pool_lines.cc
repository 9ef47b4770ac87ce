#include "manager/capacity/pool_lines.h"

#include <algorithm>
#include <map>
#include <utility>

#include "manager/capacity/decide.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/waterline/calendar/holidays.h"

namespace tidemark::manager {

PoolLines::PoolLines(PoolLinesContext context) : context_(std::move(context)), scope_(context_.loop) {}

void PoolLines::start() {
  scope_.spawn(run());
}

net::Task<void> PoolLines::run() {
  while (true) {
    look();
    co_await context_.loop.sleep(kPoolLinesEvery);
  }
}

// The settings of the first node by name count for its pool.
void PoolLines::look() {
  std::map<std::string_view, const kube::Node*> first;
  if (context_.leading()) {
    context_.nodes.for_each([&](const kube::ObjectKey&, const kube::Node& node) {
      const model::Pool& pool = context_.settings.pool_of(node);
      if (!pool.calendar) return;
      const auto [at, added] = first.try_emplace(pool.name, &node);
      if (!added && node.meta.name.view() < at->second->meta.name.view()) at->second = &node;
    });
  }
  const base::WallTime now = context_.loop.clock().wall();
  const auto* overrides = context_.overrides();
  std::set<std::string, std::less<>> shown;
  for (const auto& [name, node] : first) {
    const Revision& revision = context_.settings.for_node(*node);
    const model::Pool& pool = policy::waterline::pool_of(revision.tidemark, node->meta.labels);
    if (!pool.calendar || !revision.colocation.config || pool.name != name) continue;
    const policy::waterline::Calendar& calendar = revision.tidemark.calendars[*pool.calendar];
    const auto strategy = strategy_of_node(*node, *revision.colocation.config, pool.profile);
    const auto line = policy::waterline::water_line(
        calendar, strategy.values.cpu_reclaim_threshold_percent, strategy.values.memory_reclaim_threshold_percent,
        overrides == nullptr ? policy::waterline::LineOverrides() : overrides_of(*overrides, name, now), now);
    show_line(name, line.cpu.sell, line.memory.sell);
    show_holidays_end(name, policy::waterline::holidays_end(calendar));
    shown.insert(std::string(name));
  }
  for (const std::string& gone : shown_) {
    if (shown.contains(gone)) continue;
    show_line(gone, 0, 0);
    show_holidays_end(gone, std::nullopt);
  }
  shown_ = std::move(shown);
}

void PoolLines::show_holidays_end(std::string_view pool, std::optional<base::WallTime> end) {
  const auto time_s = end ? std::chrono::floor<std::chrono::seconds>(end->since_epoch).count() : 0;
  context_.metrics
      .gauge("tidemark_calendar_holidays_end_seconds",
             "End of the holiday list of a pool's calendar, in Unix time; 0: no holiday list.", {{"pool", pool}})
      .set(static_cast<double>(time_s));
}

void PoolLines::show_line(std::string_view pool, std::int64_t cpu, std::int64_t memory) {
  context_.metrics
      .gauge("tidemark_water_line_cpu_percent", "How much of a pool's nodes its calendar lets be sold now.",
             {{"pool", pool}})
      .set(static_cast<double>(cpu));
  context_.metrics
      .gauge("tidemark_water_line_memory_percent", "How much of a pool's nodes its calendar lets be sold now.",
             {{"pool", pool}})
      .set(static_cast<double>(memory));
}

bool has_motion(const Settings& settings) {
  const auto moves = [](const model::Pool& pool) { return pool.profile == model::Profile::kTidemark; };
  return std::ranges::any_of(settings.in_force(), [&](const Revision* revision) {
    return moves(revision->tidemark.rest) || std::ranges::any_of(revision->tidemark.pools, moves);
  });
}

}  // namespace tidemark::manager
