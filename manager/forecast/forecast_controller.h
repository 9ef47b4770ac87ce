// Learns what online work of each pool with a calendar uses, hour by hour of the local week (policy/forecast), keeps it
// over restarts and changes of the leader (manager/history), and warns where a window of the calendar disagrees with
// it. Nothing that is sold depends on it.
//
// Every replica learns by itself, from what its own caches hold; the leader keeps and tells.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "kube/recorder.h"
#include "manager/history/store.h"
#include "net/loop.h"
#include "policy/calendar/preview.h"
#include "policy/forecast/forecast.h"
#include "policy/state/overrides.h"

namespace tidemark::manager {

inline constexpr std::string_view kForecastKind = "forecast";  // of manager/history
inline constexpr HistoryVersion kForecastVersion{1, 1};
inline constexpr base::Duration kForecastSampleEvery = std::chrono::minutes(1);
// After the start: by then what was learned before is read, and whoever waits for a warning need not wait longer.
inline constexpr base::Duration kForecastFirstLook = std::chrono::seconds(5);
inline constexpr base::Duration kForecastCheckEvery = std::chrono::hours(1);

// A pool as it is now. The calendar lives until the loop runs again.
struct ForecastPool {
  std::string name;
  const policy::Calendar* calendar = nullptr;  // null: it has none, and nothing is learned of it
  std::int64_t base_cpu = 0;
  std::int64_t base_memory = 0;
};

struct ForecastContext {
  net::EventLoop& loop;
  HistoryContext history;
  std::function<std::vector<ForecastPool>()> pools;
  std::function<std::map<std::string, std::int64_t, std::less<>>()> online_permille;  // by pool, now
  std::function<const policy::Overrides*()> overrides;
};

class ForecastController {
 public:
  ForecastController(ForecastContext context, const base::Log& log);

  void start();  // until destroyed; once the caches are filled
  void leadership_changed() { store_.look(); }
  void refresh_metrics();
  void show(std::string_view pool, double known, double disagreements);

 private:
  struct Known {
    policy::Forecast forecast;
    std::int64_t disagreements = 0;
  };
  net::Task<void> run();
  void take(const std::string& pool, policy::Forecast stored);
  void sample(const std::vector<ForecastPool>& pools);
  net::Task<void> check_all();
  void check(const ForecastPool& pool);
  void tell(const ForecastPool& pool, const std::vector<policy::Disagreement>& found);

  ForecastContext context_;
  base::Log log_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, policy::Forecast, std::less<>> kept_;  // read from the store, of pools that are not there now
  std::set<std::pair<std::string, std::string>> told_;         // pool, and window with its reason
  base::MonotonicTime checked_at_;
  bool learned_ = false;
  bool started_ = false;
  HistoryStore store_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
