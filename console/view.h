// The console's copy of the cluster: informers, a row for each node, sums, pools, findings, an hour of history, and a
// day of each pool.
//
// A pass (each kPass) computes again what changed since the last one, and tells the listener which rows changed. All of
// it belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "console/evicted.h"
#include "console/projections.h"
#include "console/request_times.h"
#include "console/rows.h"
#include "console/settings.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "net/loop.h"
#include "operate/off_progress.h"
#include "policy/explain/doctor/cluster_findings.h"

namespace tidemark::console {

struct ViewOptions {
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
};

// One kind of object that the view reads.
struct SourceState {
  std::string_view name;                 // "nodes"
  bool synced = false;                   // it was read at least once
  bool incomplete = false;               // more objects than its budget has room for
  std::optional<base::Duration> silent;  // for how long the API server has not answered
  std::size_t objects = 0;
};

struct HistoryPoint {
  std::int64_t at_s = 0;
  bool known = false;  // false: no fresh report from any node
  SumAmounts cpu, memory;
};

class View {
 public:
  // A page shows a change within a second at p99: the longest wait for a pass is half of it.
  static constexpr base::Duration kPass = std::chrono::milliseconds(500);
  static constexpr base::Duration kHistoryStep = std::chrono::seconds(5);
  static constexpr std::size_t kHistoryPointsMax = 720;  // an hour
  // Of each pool, about 300 KiB for a day; further pools have none.
  static constexpr base::Duration kPoolStep = std::chrono::minutes(1);
  static constexpr std::size_t kPoolPointsMax = 1440;
  static constexpr std::size_t kPoolHistoriesMax = 64;
  // Budgets of the caches. A node costs at most kNodeBytes as the API server's object and kRowBytes as a row.
  static constexpr std::size_t kNodeBytes = 6 * 1024;
  static constexpr std::size_t kRowBytes = 512;
  static constexpr std::size_t kReportBytes = 512;
  static constexpr std::size_t kTaskBytes = 1024;
  static constexpr std::size_t kNodesMax = 12'000;
  static constexpr std::size_t kTasksMax = 60'000;

  struct Change {
    std::vector<const NodeRow*> rows;  // new or different; until the next pass
    std::vector<std::string> gone;
    bool sums = false;
    bool findings = false;
    bool evictions = false;
  };
  using OnChange = std::function<void(const Change&)>;

  View(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics, base::Random random,
       ViewOptions options);

  void start();
  void on_change(OnChange listener) { listener_ = std::move(listener); }
  bool synced() const;    // every source was read once
  bool settled() const {  // rows and findings are of a time at which every source had been read
    return known_ == Known{true, true, true};
  }
  Known known() const;
  std::vector<SourceState> sources() const;

  using Rows = std::map<std::string, NodeRow, std::less<>>;
  const Rows& rows() const { return rows_; }
  const Sums& sums() const { return sums_; }
  const PoolSums& pool_sums() const { return pool_sums_; }
  Settings& settings() { return settings_; }
  using PointsOfTime = std::deque<HistoryPoint>;
  const PointsOfTime& history() const { return history_; }
  const PointsOfTime* history_of(std::string_view pool) const;  // null: nothing is known of it
  std::uint64_t version() const { return version_; }            // grows with each change that a page shows

  const kube::Node* node(std::string_view name) const;
  const NodeReport* report(std::string_view name) const;
  std::span<const Task* const> tasks_on(std::string_view node) const;
  void for_each_task(const std::function<void(const Task&)>& visit) const;
  const EvictedTasks& evicted() const { return evicted_; }
  std::optional<base::WallTime> since() const { return since_; }  // when it began to read; nullopt: not started
  // Use of offline work, summed over time since the day began, in UTC, or since() if that is later: time without a
  // fresh report of a node is not counted for that node.
  struct Gain {
    base::WallTime since;
    std::int64_t core_seconds = 0;
  };
  std::optional<Gain> gain() const { return gain_; }  // nullopt: no fresh report yet
  // Worst first; only what is not as it should be.
  const std::vector<policy::explain::ClusterFinding>& findings() const { return findings_; }
  std::optional<RequestTimes::Found> requests() const { return requests_.found(metrics_); }
  // Stored progress of `off --evict`, the latest first.
  const std::vector<operate::OffProgress>& evictions() const { return evictions_; }

 private:
  void watch_map(std::string_view name, kube::Client& client, base::Registry& metrics, base::Random random);
  void take_map(std::string_view name, const kube::ConfigMap* map);
  bool maps_synced() const;
  net::Task<void> passes();
  void pass();
  void refresh_row(std::string_view name, base::WallTime now, Change& change);
  void refresh_sums(Change& change);
  void refresh_findings(base::WallTime now, Change& change);
  void remember(base::WallTime now);
  void count_gain(base::WallTime now);

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  RequestTimes requests_;
  ViewOptions options_;
  kube::Interner interner_;
  kube::Informer<kube::Node> nodes_;
  kube::Informer<NodeReport> reports_;
  kube::Informer<Task> tasks_;
  // One for each name, so that the right to read these ConfigMaps is enough.
  std::vector<std::unique_ptr<kube::Informer<kube::ConfigMap>>> maps_;
  Settings settings_;
  OnChange listener_;

  std::set<std::string, std::less<>> dirty_;  // nodes whose rows are computed in the next pass
  bool all_dirty_ = true;
  bool findings_dirty_ = true;
  base::MonotonicTime rows_at_, findings_at_;  // when all of them were computed last
  Known known_;                                // in the last pass

  Rows rows_;
  Sums sums_;
  PoolSums pool_sums_;
  std::vector<policy::explain::ClusterFinding> findings_;
  std::string findings_shown_;  // as a page got them last
  PointsOfTime history_;
  std::map<std::string, PointsOfTime, std::less<>> pool_histories_;
  EvictedTasks evicted_;
  std::optional<base::WallTime> since_;
  std::optional<Gain> gain_;
  std::int64_t gain_core_ms_ = 0;          // of gain_, in thousandths of a core and seconds
  std::optional<base::WallTime> gain_at_;  // counted up to here
  std::vector<operate::OffProgress> evictions_;
  bool evictions_new_ = false;
  std::uint64_t version_ = 1;
  net::Scope scope_;
};

}  // namespace tidemark::console
