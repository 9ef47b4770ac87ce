#include "manager/forecast/forecast_controller.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "policy/render/preview_text.h"

namespace tidemark::manager {
namespace {

constexpr std::size_t kHistoryShards = 1;  // the forecasts of some hundred pools
constexpr std::size_t kPoolsMax = 300;
// A preview of a week is some thousand looks at a calendar: between two of them others have their turn.
constexpr base::Duration kBreath = std::chrono::milliseconds(50);

}  // namespace

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
                for (const auto& [pool, known] : known_) names.push_back(pool);
                for (const auto& [pool, forecast] : kept_) {
                  if (!known_.contains(pool)) names.push_back(pool);
                }
                return names;
              },
              [this](const std::string& pool) -> std::optional<HistoryRecord> {
                if (const auto known = known_.find(pool); known != known_.end() && known->second.forecast.known() > 0) {
                  const auto& forecast = known->second.forecast;
                  return HistoryRecord{pool, policy::encode_forecast(forecast), forecast.known()};
                }
                const auto kept = kept_.find(pool);
                if (kept == kept_.end()) return std::nullopt;
                return HistoryRecord{pool, policy::encode_forecast(kept->second), 0};
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

// What was stored fills what this process has not learned yet: at once, because it is written again from here.
void ForecastController::take(const std::string& pool, policy::Forecast stored) {
  if (const auto known = known_.find(pool); known != known_.end()) {
    known->second.forecast = policy::with_kept(std::move(known->second.forecast), stored);
    learned_ = true;
  } else if (kept_.size() < kPoolsMax) {
    kept_.insert_or_assign(pool, std::move(stored));
  }
}

void ForecastController::sample(const std::vector<ForecastPool>& pools) {
  const auto online = context_.online_permille();
  const base::WallTime now = context_.loop.clock().wall();
  std::set<std::string_view> there;
  for (const ForecastPool& pool : pools) {
    if (pool.calendar == nullptr || there.size() >= kPoolsMax) continue;
    there.insert(pool.name);
    Known& known = known_[pool.name];
    const auto use = online.find(pool.name);
    auto step = policy::learn(known.forecast, pool.calendar->zone,
                              use == online.end() ? std::nullopt : std::optional(use->second), now);
    known.forecast = std::move(step.forecast);
    if (const auto kept = kept_.find(pool.name); kept != kept_.end()) {
      known.forecast = policy::with_kept(std::move(known.forecast), kept->second);
      learned_ = true;
      kept_.erase(kept);
    }
    if (step.learned) {
      learned_ = true;
      store_.changed();
    }
  }
  // A pool without nodes for a while (scaled to none at night) comes back with what it had learned.
  std::erase_if(known_, [&](auto& each) {
    if (there.contains(each.first)) return false;
    show(each.first, 0, 0);
    if (kept_.size() < kPoolsMax) kept_.insert_or_assign(each.first, std::move(each.second.forecast));
    return true;
  });
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
  const auto found = policy::disagreements(points, *pool.calendar, known->second.forecast.hours);
  known->second.disagreements = static_cast<std::int64_t>(found.size());
  tell(pool, found);
}

// Each window once, until it no longer disagrees.
void ForecastController::tell(const ForecastPool& pool, const std::vector<policy::Disagreement>& found) {
  std::set<std::pair<std::string, std::string>> now;
  for (const auto& each : found) {
    const std::string& entry = pool.calendar->entries[each.entry].name;
    const auto key = std::pair(pool.name, base::cat(entry, " ", model::reason_id(each.reason)));
    if (!now.insert(key).second || told_.contains(key)) continue;
    if (!context_.history.leadership.leading()) {
      now.erase(key);  // whoever leads next tells it
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
    show(name, leading ? static_cast<double>(known.forecast.known()) : 0,
         leading ? static_cast<double>(known.disagreements) : 0);
  }
}

void ForecastController::show(std::string_view pool, double known, double disagreements) {
  context_.history.metrics
      .gauge("tidemark_forecast_known", "Hours of the week of which it is known what online work uses.",
             {{"pool", pool}})
      .set(known);
  context_.history.metrics
      .gauge("tidemark_forecast_disagreements",
             "Times in the next seven days in which a window of the calendar disagrees with the forecast.",
             {{"pool", pool}})
      .set(disagreements);
}

}  // namespace tidemark::manager
