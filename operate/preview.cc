#include "operate/preview.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "manager/forecast/forecast_controller.h"
#include "manager/history/record.h"
#include "operate/get.h"
#include "operate/manifests.h"
#include "policy/calendar/holidays.h"
#include "policy/forecast/forecast.h"
#include "policy/state/overrides.h"

namespace tidemark::operate {
namespace {

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

}  // namespace

net::Task<Result<PoolPreview>> preview_pool(net::EventLoop& loop, kube::Client& client, PreviewOptions options) {
  std::optional<Manifests> file;
  if (!options.file.empty()) {
    Manifests read;
    const auto problems = read_manifests(options.file, options.settings.config_name, read);
    if (!problems.empty()) {
      co_return fail(ErrorKind::kInvalid, "the new settings cannot be used: ", base::join(problems, "; "));
    }
    file = std::move(read);
  }
  PoolPreview out;
  TM_CO_TRY(out.pool, co_await read_pool_line(client, options.settings, options.pool, std::move(file)));
  const base::WallTime now = loop.clock().wall();
  const base::WallTime from = on_the_grid(options.from.value_or(now));
  const auto& calendar = out.pool.calendar();
  out.overrides = policy::overrides_of(out.pool.overrides, out.pool.pool, now);
  out.points = policy::preview(calendar, out.pool.base_cpu, out.pool.base_memory, out.overrides, from, options.length);
  TM_CO_TRY(auto forecast, co_await read_forecasts(client, options.settings, out.pool.pool));
  for (policy::Forecast* each : {&forecast.cpu, &forecast.memory}) {
    if (each->zone != calendar.zone.name()) *each = policy::Forecast();  // of other hours
  }
  out.known_hours_cpu = forecast.cpu.known();
  out.known_hours_memory = forecast.memory.known();
  if (out.forecast_known()) {
    out.disagreements = policy::disagreements(out.points, calendar, {forecast.cpu.hours, forecast.memory.hours});
  }
  out.holidays_end = policy::holidays_end_soon(calendar, std::max(from, now));
  co_return out;
}

}  // namespace tidemark::operate
