// All runs: takes them in, and drives each through its phases.
//
//   store.put(next state) → effect of that state → event → next state …
//
// One coroutine drives a run, so its effects never overlap. After a restart each run that is not final goes on from its
// stored phase, and repeats the effect of it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "gateway/decision.h"
#include "gateway/live_signals.h"
#include "gateway/record.h"
#include "gateway/run_logs.h"
#include "gateway/side_client.h"
#include "gateway/store.h"
#include "net/loop.h"
#include "policy/route/quota.h"
#include "policy/route/run.h"
#include "policy/route/side.h"

namespace tidemark::gateway {

struct RunsOptions {
  policy::route::RouteRules rules;  // until the first set_rules()
  ZoneOf zone_of;                   // of the zones in stored rules; null: UTC alone
  base::Duration admission_limit = std::chrono::minutes(10);
  base::Duration look_interval = std::chrono::seconds(1);
  base::Duration retry_first = std::chrono::milliseconds(500);  // after an effect without a result; doubles
  base::Duration retry_max = std::chrono::seconds(30);
  RunLogsOptions logs;
};

// null: there is no such side.
using Sides = std::array<SideClient*, policy::route::kSides>;

class Runs {
 public:
  Runs(net::EventLoop& loop, Store& store, base::Log log, base::Random random, RunsOptions options);
  ~Runs();
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  void use(Sides sides) { sides_ = sides; }                     // before resume(); they outlive this
  void use(const LiveSignals* signals) { signals_ = signals; }  // the same; null: signals are unknown
  // The quota of a business, read for each decision. Without this call there is none.
  void limit(std::function<policy::route::Quota(std::string_view business)> quota_of) {
    quota_of_ = std::move(quota_of);
  }
  // The outputs with files of the first attempt (output_check.h). Without this call a run that declares before-commit
  // does not move.
  using BegunOutputs = std::function<net::Task<Result<std::vector<std::string>>>(SparkJob job, base::WallTime created)>;
  void check_outputs(BegunOutputs begun) { begun_outputs_ = std::move(begun); }
  // Reads the runs that are not final, and drives them.
  net::Task<Result<void>> resume();

  // Durable when it answers. kConflict: the key belongs to another job. kUnsupported: no side can run the job.
  // kExhausted with code 429: the quota of its business. `job_hash`: of the job as the client sent it; "": of `job`.
  net::Task<Result<Added>> add(SparkJob job, std::string key, std::string job_hash = "");
  net::Task<Result<std::optional<Record>>> find(std::int64_t id);
  net::Task<Result<std::optional<Record>>> find_key(std::string key);
  net::Task<Result<void>> drop_key(std::int64_t id) { return store_.drop_key(id); }
  net::Task<Result<Page>> page(std::int64_t from, std::int64_t size, RunFilter filter = {});
  // Durable when it answers. kNotFound: there is no such run.
  net::Task<Result<void>> cancel(std::int64_t id);
  // In effect at once, also for queued runs.
  net::Task<Result<void>> set_no_more_kubernetes(bool value);

  // In effect at once, also for queued runs.
  void set_rules(policy::route::RouteRules rules);

  // Idle capacity or the quota of a namespace changed.
  void wake_for_room();
  // The decision for the side of each attempt, made again from its stored inputs. An error names what is missing.
  net::Task<std::vector<Result<Replayed>>> replay(Record record);

  // Whether an attempt still owns its driver.
  net::Task<bool> is_live(std::int64_t run, std::int64_t attempt);
  void wake(std::int64_t run);
  std::size_t live() const { return live_.size(); }
  const std::string& store() const { return store_.instance(); }
  std::string app_id(const Record& record) const;  // "" before it has one

  RunLogs& logs() { return logs_; }
  // The log of a run with the newest output of its driver.
  net::Task<Result<std::vector<std::string>>> log_lines(Record record);
  net::Task<Result<LogPiece>> log_piece(Record record, std::int64_t from);
  // Of an executor at Kubernetes, also after its end if there is an archive.
  net::Task<Result<std::string>> executor_log(Record record, std::string executor);

 private:
  struct Live;
  // What an effect led to: the next state, or nothing yet.
  struct Outcome {
    std::optional<policy::route::Run> next{};
    std::string message{};
  };

  void drive_later(Record record);
  void adopt(std::vector<Record> records);
  void drop_all();
  void on_cancel_ordered(std::int64_t id);
  void wake_all();
  net::Task<void> drive(std::shared_ptr<Live> live);
  net::Task<Outcome> perform(Live& live);
  net::Task<Outcome> submit(Live& live);
  net::Task<Outcome> stop(Live& live);
  Outcome route(Live& live);
  policy::route::RouteSignals signals_for(const Live& live) const;
  RunInSight in_sight(const Live& live) const;
  net::Task<Result<void>> store_rules();
  net::Task<void> read_waits();
  net::Task<Outcome> look(Live& live);
  net::Task<bool> update_log(const Record& record);  // as RunLogs::update
  net::Task<Result<void>> read_comparison(Live& live);
  net::Task<void> note_comparison(const Record& record);
  enum class Saved : std::uint8_t {
    kDone,
    kNotOurs,  // another process drives the run
    kNoQuota,  // runs of other processes use the quota: the run waits
  };
  net::Task<Saved> save(Live& live, policy::route::Run next, std::string message);
  policy::route::RouteInput input_of(const Record& record) const;
  policy::route::RunFacts facts_of(const Live& live) const;
  policy::route::RunConfig config() const;
  SideClient* side_of(const Record& record) const;
  std::int64_t waiting_at_kubernetes() const;
  policy::route::Quota quota_of(std::string_view business) const;
  policy::route::QuotaUse use_of(std::string_view business) const;
  std::string waits_for_quota(const Live& live) const;  // the reason; "": it does not
  Result<void> check_quota(const SparkJob& job) const;
  void wake_queued(std::string_view business);
  void wake_next_for_place();

  net::EventLoop& loop_;
  Store& store_;
  base::Log log_;
  base::Random random_;
  const RunsOptions options_;
  policy::route::RouteRules rules_;
  RulesRevision revision_;       // of rules_
  std::string stored_revision_;  // hash of the last one that the store has
  RunLogs logs_;
  Sides sides_{};
  const LiveSignals* signals_ = nullptr;
  std::function<policy::route::Quota(std::string_view business)> quota_of_;
  BegunOutputs begun_outputs_;
  std::map<std::int64_t, std::shared_ptr<Live>> live_;
  std::set<std::int64_t> want_place_;  // runs that too many waiting drivers keep from Kubernetes
  std::map<std::string, std::int64_t, std::less<>> arriving_;  // runs that are being stored, by business
  net::Scope scope_;
};

}  // namespace tidemark::gateway
