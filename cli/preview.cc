#include "cli/preview.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/get.h"
#include "cli/manifests.h"
#include "manager/forecast/forecast_controller.h"
#include "manager/history/record.h"
#include "policy/calendar/holidays.h"
#include "policy/forecast/forecast.h"
#include "policy/render/over_report_text.h"
#include "policy/render/preview_text.h"
#include "policy/state/overrides.h"

namespace tidemark::cli {
namespace {

using base::cat;

base::WallTime on_the_grid(base::WallTime time) {
  const auto step = policy::kPreviewStep;
  return {time.since_epoch - time.since_epoch % step};
}

// What a manager learned of the pool; nothing known where it learned nothing, or this version cannot read it.
struct PoolForecasts {
  policy::Forecast cpu;
  policy::Forecast memory;
};

net::Task<Result<PoolForecasts>> read_forecasts(kube::Client& client, const PoolQuestion& question, std::string pool) {
  kube::Interner interner;
  TM_CO_TRY(const auto map,
            co_await config_map(client, question.config_namespace, manager::history_map_name(manager::kForecastKind, 0),
                                question.limit, interner));
  PoolForecasts found;
  if (!map) co_return found;
  for (const auto& [key, text] : map->data) {
    const auto stored = manager::decode_history(key.view(), text.view());
    if (!stored) continue;
    const bool of_memory = stored->record.name == manager::memory_record(pool);
    if (!of_memory && stored->record.name != pool) continue;
    if (auto forecast = policy::decode_forecast(stored->record.bytes)) {
      (of_memory ? found.memory : found.cpu) = std::move(*forecast);
    }
  }
  co_return found;
}

std::string head(const PoolLine& pool) {
  const auto& calendar = pool.calendar();
  std::string out = cat("pool ", pool.pool, ": ", pool.nodes, pool.nodes == 1 ? " node" : " nodes");
  out += pool.settings().calendar ? cat(", calendar ", calendar.name, " (", calendar.zone.name(), ")")
                                  : std::string(", no calendar");
  out += cat(", base line cpu ", pool.base_cpu, " %, memory ", pool.base_memory, " %");
  if (calendar.lead > base::Duration(0)) out += cat(", lead ", base::format_go_duration(calendar.lead));
  return out + "\n";
}

}  // namespace

net::Task<Result<std::string>> preview_pool(net::EventLoop& loop, kube::Client& client, PreviewOptions options) {
  std::optional<Manifests> file;
  if (!options.file.empty()) {
    Manifests read;
    const auto problems = read_manifests(options.file, options.settings.config_name, read);
    if (!problems.empty()) {
      co_return fail(ErrorKind::kInvalid, "the new settings cannot be used: ", base::join(problems, "; "));
    }
    file = std::move(read);
  }
  TM_CO_TRY(const PoolLine pool, co_await read_pool_line(client, options.settings, options.pool,
                                                         file ? std::optional(std::move(*file)) : std::nullopt));
  const base::WallTime from = on_the_grid(options.from.value_or(loop.clock().wall()));
  const auto& calendar = pool.calendar();
  const auto overrides = policy::overrides_of(pool.overrides, pool.pool, loop.clock().wall());
  const auto points = policy::preview(calendar, pool.base_cpu, pool.base_memory, overrides, from, options.length);
  std::vector<std::string> notes;
  TM_CO_TRY(auto forecast, co_await read_forecasts(client, options.settings, pool.pool));
  for (policy::Forecast* each : {&forecast.cpu, &forecast.memory}) {
    if (each->zone != calendar.zone.name()) *each = policy::Forecast();  // of other hours
  }
  const bool known = forecast.cpu.known() + forecast.memory.known() > 0;
  std::vector<policy::Disagreement> disagreements;
  if (known) {
    disagreements = policy::disagreements(points, calendar, {forecast.cpu.hours, forecast.memory.hours});
  }
  const policy::PreviewView view{calendar, overrides, points, disagreements, known};
  if (!calendar.entries.empty()) {
    notes.push_back(
        known ? cat("held against what online work used of cpu in ", forecast.cpu.known(), ", and of memory in ",
                    forecast.memory.known(), " of 168 hours of the week")
              : std::string("what online work of the pool uses is not known yet: nothing to hold it against"));
  }
  if (const auto end = policy::holidays_end_soon(calendar, std::max(from, loop.clock().wall()))) {
    notes.push_back(policy::holidays_text(calendar, *end));
  }
  if (pool.other_base > 0) {
    notes.push_back(cat(pool.other_base, " of its nodes have another base line by settings of their own"));
  }
  if (!options.json) {
    std::string out =
        base::cat(head(pool), policy::over_report_text(pool.settings().ledger), policy::render_text(view));
    for (const auto& note : notes) out += cat("note: ", note, "\n");
    co_return out;
  }
  Json out = Json::object({{"schema", 1},
                           {"pool", Json(pool.pool)},
                           {"nodes", Json(static_cast<std::int64_t>(pool.nodes))},
                           {"base", Json::object({{"cpuPercent", pool.base_cpu}, {"memoryPercent", pool.base_memory}})},
                           {"leadSeconds", std::chrono::duration_cast<std::chrono::seconds>(calendar.lead).count()}});
  out["overReport"] = policy::over_report_json(pool.settings().ledger);
  const Json told = policy::render_json(view);
  for (const auto& [key, value] : told.as_object()) out[key] = value;
  out["notes"] = Json::array();
  for (const auto& note : notes) out["notes"].as_array().push_back(Json(note));
  co_return out.dump_pretty() + "\n";
}

}  // namespace tidemark::cli
