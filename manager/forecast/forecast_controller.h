// Learns how much CPU and memory online work of each pool with a calendar uses per hour of the local week
// (policy/forecast), keeps it over restarts and leader changes (manager/history), and warns if a window of the
// calendar disagrees with it. No offer depends on it.
//
// Every replica learns from its own caches; the leader stores and reports.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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
// Delay after the start: until then stored data is read, and a warning need not wait longer.
inline constexpr base::Duration kForecastFirstLook = std::chrono::seconds(5);
inline constexpr base::Duration kForecastCheckEvery = std::chrono::hours(1);

// Under which name a pool's memory is kept; that of its CPU has the pool's own. No pool is called so.
std::string memory_record(std::string_view pool);

// What online work of a pool uses now, in permille of the nodes that report.
struct OnlineUse {
  std::int64_t cpu_permille = 0;
  std::int64_t memory_permille = 0;
};

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
  std::function<std::map<std::string, OnlineUse, std::less<>>()> online;  // by pool, now
  std::function<const policy::Overrides*()> overrides;
};

class ForecastController {
 public:
  ForecastController(ForecastContext context, const base::Log& log);

  void start();  // until destroyed; once the caches are filled
  void leadership_changed() { store_.look(); }
  void refresh_metrics();
  void show(std::string_view pool, double known, double disagreements);
  // Where the line lies now, in percent of a node that may be sold.
  void show_line(std::string_view pool, std::int64_t cpu, std::int64_t memory);
  void show_holidays_end(std::string_view pool, std::optional<base::WallTime> end);

 private:
  struct Known {
    policy::Forecast cpu;
    policy::Forecast memory;
    std::int64_t disagreements = 0;
  };
  net::Task<void> run();
  policy::Forecast* find(std::string_view record);
  void take(const std::string& record, policy::Forecast stored);
  void learn(const std::string& record, const policy::Calendar& calendar, std::optional<std::int64_t> permille,
             base::WallTime now);
  void sample(const std::vector<ForecastPool>& pools);
  void show_lines(const std::vector<ForecastPool>& pools, base::WallTime now);
  net::Task<void> check_all();
  void check(const ForecastPool& pool);
  void tell(const ForecastPool& pool, const std::vector<policy::Disagreement>& found);

  ForecastContext context_;
  base::Log log_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, policy::Forecast, std::less<>> kept_;  // by record, of pools that are not there now
  std::set<std::pair<std::string, std::string>> told_;         // pool, and window with its line and reason
  base::MonotonicTime checked_at_;
  bool learned_ = false;
  bool started_ = false;
  HistoryStore store_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
