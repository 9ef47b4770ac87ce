#include "manager/forecast/forecast_controller.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "policy/calendar/holidays.h"
#include "policy/render/preview_text.h"

namespace tidemark::manager {
namespace {

constexpr std::size_t kHistoryShards = 1;  // the forecasts of some hundred pools
constexpr std::size_t kPoolsMax = 300;
constexpr std::size_t kRecordsMax = 2 * kPoolsMax;
constexpr std::string_view kMemoryRecord = "/memory";
// A preview of a week is some thousand looks at a calendar: between two of them others have their turn.
constexpr base::Duration kBreath = std::chrono::milliseconds(50);

}  // namespace

std::string memory_record(std::string_view pool) {
  return base::cat(pool, kMemoryRecord);
}

ForecastController::ForecastController(ForecastContext context, const base::Log& log)
    : context_(std::move(context)),
      log_(log),
      store_(context_.history, {std::string(kForecastKind), kForecastVersion, kHistoryShards},
             {[this] { return !known_.empty(); }, [] { return kHistoryEvery; },
              [this](const StoredRecord& stored) -> Result<void> {
                TM_TRY(auto forecast, policy::decode_forecast(stored.record.bytes));
                take(stored.record.name, std::move(forecast));
                return {};
              },
              [this] {
                std::vector<std::string> names;
                for (const auto& [pool, known] : known_) {
                  names.push_back(pool);
                  names.push_back(memory_record(pool));
                }
                for (const auto& [record, forecast] : kept_) {
                  if (find(record) == nullptr) names.push_back(record);
                }
                return names;
              },
              [this](const std::string& record) -> std::optional<HistoryRecord> {
                if (const auto* known = find(record); known != nullptr && known->known() > 0) {
                  return HistoryRecord{record, policy::encode_forecast(*known), known->known()};
                }
                const auto kept = kept_.find(record);
                if (kept == kept_.end()) return std::nullopt;
                return HistoryRecord{record, policy::encode_forecast(kept->second), 0};
              }},
             log),
      scope_(context_.loop) {}

void ForecastController::start() {
  if (started_) return;
  started_ = true;
  checked_at_ = context_.loop.clock().monotonic();
  store_.start();
  scope_.spawn(run());
}

net::Task<void> ForecastController::run() {
  base::Duration pause = kForecastFirstLook;
  while (true) {
    sample(context_.pools());
    store_.look();
    const base::MonotonicTime now = context_.loop.clock().monotonic();
    if (learned_ || now - checked_at_ >= kForecastCheckEvery) {
      learned_ = false;
      checked_at_ = now;
      co_await check_all();
    }
    co_await context_.loop.sleep(pause);
    pause = kForecastSampleEvery;
  }
}

policy::Forecast* ForecastController::find(std::string_view record) {
  const bool of_memory = record.ends_with(kMemoryRecord);
  const auto known = known_.find(of_memory ? record.substr(0, record.size() - kMemoryRecord.size()) : record);
  if (known == known_.end()) return nullptr;
  return of_memory ? &known->second.memory : &known->second.cpu;
}

// What was stored fills what this process has not learned yet: at once, because it is written again from here.
void ForecastController::take(const std::string& record, policy::Forecast stored) {
  if (auto* known = find(record); known != nullptr) {
    *known = policy::with_kept(std::move(*known), stored);
    learned_ = true;
  } else if (kept_.size() < kRecordsMax) {
    kept_.insert_or_assign(record, std::move(stored));
  }
}

// The pool is known.
void ForecastController::learn(const std::string& record, const policy::Calendar& calendar,
                               std::optional<std::int64_t> permille, base::WallTime now) {
  policy::Forecast& forecast = *find(record);
  auto step = policy::learn(forecast, calendar.zone, permille, now);
  forecast = std::move(step.forecast);
  if (const auto kept = kept_.find(record); kept != kept_.end()) {
    forecast = policy::with_kept(std::move(forecast), kept->second);
    learned_ = true;
    kept_.erase(kept);
  }
  if (step.learned) {
    learned_ = true;
    store_.changed();
  }
}

void ForecastController::sample(const std::vector<ForecastPool>& pools) {
  const auto online = context_.online();
  const base::WallTime now = context_.loop.clock().wall();
  std::set<std::string_view> there;
  for (const ForecastPool& pool : pools) {
    if (pool.calendar == nullptr || there.size() >= kPoolsMax) continue;
    there.insert(pool.name);
    known_.try_emplace(pool.name);
    const auto use = online.find(pool.name);
    const bool measured = use != online.end();
    learn(pool.name, *pool.calendar, measured ? std::optional(use->second.cpu_permille) : std::nullopt, now);
    learn(memory_record(pool.name), *pool.calendar,
          measured ? std::optional(use->second.memory_permille) : std::nullopt, now);
  }
  show_lines(pools, now);
  // A pool without nodes for a while (scaled to none at night) comes back with what it had learned.
  std::erase_if(known_, [&](auto& each) {
    auto& [name, known] = each;
    if (there.contains(name)) return false;
    show(name, 0, 0);
    show_line(name, 0, 0);
    show_holidays_end(name, std::nullopt);
    if (kept_.size() + 2 <= kRecordsMax) {
      kept_.insert_or_assign(name, std::move(known.cpu));
      kept_.insert_or_assign(memory_record(name), std::move(known.memory));
    }
    return true;
  });
}

void ForecastController::show_lines(const std::vector<ForecastPool>& pools, base::WallTime now) {
  const bool leading = context_.history.leadership.leading();
  const auto* overrides = context_.overrides();
  for (const ForecastPool& pool : pools) {
    if (pool.calendar == nullptr || !known_.contains(pool.name)) continue;
    if (!leading) {
      show_line(pool.name, 0, 0);
      show_holidays_end(pool.name, std::nullopt);
      continue;
    }
    show_holidays_end(pool.name, policy::holidays_end(*pool.calendar));
    const auto line = policy::water_line(
        *pool.calendar, pool.base_cpu, pool.base_memory,
        overrides == nullptr ? policy::LineOverrides() : overrides_of(*overrides, pool.name, now), now);
    show_line(pool.name, line.cpu.sell, line.memory.sell);
  }
}

net::Task<void> ForecastController::check_all() {
  // All nodes are asked for their pools once; the calendars are copied, as settings may change between two pools.
  std::vector<ForecastPool> pools = context_.pools();
  std::vector<policy::Calendar> calendars;
  calendars.reserve(pools.size());
  for (ForecastPool& pool : pools) {
    if (pool.calendar != nullptr) pool.calendar = &calendars.emplace_back(*pool.calendar);
  }
  for (const ForecastPool& pool : pools) {
    if (pool.calendar == nullptr || !known_.contains(pool.name)) continue;
    check(pool);
    co_await context_.loop.sleep(kBreath);
  }
  refresh_metrics();
}

void ForecastController::check(const ForecastPool& pool) {
  const auto known = known_.find(pool.name);
  if (known == known_.end()) return;
  const base::WallTime now = context_.loop.clock().wall();
  const auto* overrides = context_.overrides();
  const auto points =
      policy::preview(*pool.calendar, pool.base_cpu, pool.base_memory,
                      overrides == nullptr ? policy::LineOverrides() : overrides_of(*overrides, pool.name, now), now);
  const auto found =
      policy::disagreements(points, *pool.calendar, {known->second.cpu.hours, known->second.memory.hours});
  known->second.disagreements = static_cast<std::int64_t>(found.size());
  tell(pool, found);
}

// Each window once, until it no longer disagrees.
void ForecastController::tell(const ForecastPool& pool, const std::vector<policy::Disagreement>& found) {
  std::set<std::pair<std::string, std::string>> now;
  for (const auto& each : found) {
    const std::string& entry = pool.calendar->entries[each.entry].name;
    const auto key =
        std::pair(pool.name, base::cat(entry, " ", policy::to_string(each.line), " ", model::reason_id(each.reason)));
    if (!now.insert(key).second || told_.contains(key)) continue;
    if (!context_.history.leadership.leading()) {
      now.erase(key);  // the next leader reports it
      continue;
    }
    const std::string text = base::cat("pool ", pool.name, ": ", policy::disagreement_text(each, *pool.calendar));
    log_.warn(text, {{"pool", pool.name}});
    context_.history.recorder.record(
        {"v1", "ConfigMap", context_.history.config_namespace, std::string(model::kTidemarkConfigName), ""},
        kube::EventSeverity::kWarning, "TidemarkForecastDisagrees", text);
  }
  std::erase_if(told_, [&](const auto& key) { return key.first == pool.name && !now.contains(key); });
  told_.insert(now.begin(), now.end());
}

void ForecastController::refresh_metrics() {
  const bool leading = context_.history.leadership.leading();
  for (const auto& [name, known] : known_) {
    show(name, leading ? static_cast<double>(known.cpu.known()) : 0,
         leading ? static_cast<double>(known.disagreements) : 0);
  }
}

void ForecastController::show(std::string_view pool, double known, double disagreements) {
  context_.history.metrics
      .gauge("tidemark_forecast_known", "Hours of the week with known CPU usage of online work.", {{"pool", pool}})
      .set(known);
  context_.history.metrics
      .gauge("tidemark_forecast_disagreements",
             "Times in the next seven days in which a window of the calendar disagrees with the forecast.",
             {{"pool", pool}})
      .set(disagreements);
}

void ForecastController::show_holidays_end(std::string_view pool, std::optional<base::WallTime> end) {
  const auto time_s = end ? std::chrono::floor<std::chrono::seconds>(end->since_epoch).count() : 0;
  context_.history.metrics
      .gauge("tidemark_calendar_holidays_end_seconds",
             "End of the holiday list of a pool's calendar, in Unix time; 0: no holiday list.", {{"pool", pool}})
      .set(static_cast<double>(time_s));
}

void ForecastController::show_line(std::string_view pool, std::int64_t cpu, std::int64_t memory) {
  context_.history.metrics
      .gauge("tidemark_water_line_cpu_percent", "How much of a pool's nodes its calendar lets be sold now.",
             {{"pool", pool}})
      .set(static_cast<double>(cpu));
  context_.history.metrics
      .gauge("tidemark_water_line_memory_percent", "How much of a pool's nodes its calendar lets be sold now.",
             {{"pool", pool}})
      .set(static_cast<double>(memory));
}

}  // namespace tidemark::manager
