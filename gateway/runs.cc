#include "gateway/runs.h"

#include <utility>

#include "base/hash.h"
#include "base/limits.h"
#include "base/text.h"
#include "gateway/job_need.h"
#include "policy/route/names.h"
#include "policy/route/signals_text.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr std::int64_t kPercent = 100;
constexpr std::int64_t kEarlierRuns = 500;  // whose waits in queues of YARN are read at the start
// YARN shows the log of an ended container again when it has collected it.
constexpr int kLateReads = 8;
constexpr base::Duration kLateReadInterval = std::chrono::seconds(15);

// The state without the times since which a driver is missing or unknown: those alone are not worth a write.
bool same_except_absence(Run a, const Run& b) {
  if (a.attempts.size() == b.attempts.size()) {
    for (std::size_t i = 0; i < a.attempts.size(); ++i) {
      a.attempts[i].absent_since = b.attempts[i].absent_since;
      a.attempts[i].unknown_since = b.attempts[i].unknown_since;
    }
  }
  return a == b;
}

// The name under which the store has the comparison that found a difference between the sides of this job.
std::string comparison_of(std::string_view name) {
  return cat("comparison ", name);
}

bool waits_at_kubernetes(const Run& run) {
  return run.phase >= Phase::kRouted && run.phase <= Phase::kSubmitted && run.attempts.back().side == Side::kKubernetes;
}

}  // namespace

struct Runs::Live {
  Live(net::EventLoop& loop, Record r, base::Backoff b)
      : record(std::move(r)),
        business(record.job.conf_or(kBusinessConf, "")),
        cores(cores_of(record.job).value_or(0)),
        need(need_of(record.job)),
        uses_quota(has_side(record.run.phase)),
        waits(waits_at_kubernetes(record.run)),
        changed(loop),
        backoff(b) {}

  Record record;
  const std::string business;
  const std::int64_t cores;
  const RunNeed need;  // at Kubernetes
  bool uses_quota;     // of runs and cores; also while the decision for a side is being stored
  bool waits;          // at Kubernetes, for a node; also while the decision for it is being stored
  bool waits_for_room = false;
  bool sides_differ = false;  // as its last comparison says
  bool replaced = false;      // by the same run of a newer lease
  net::Event changed;
  base::Backoff backoff;
};

Runs::Runs(net::EventLoop& loop, Store& store, base::Log log, base::Random random, RunsOptions options)
    : loop_(loop),
      store_(store),
      log_(std::move(log)),
      random_(random),
      options_(std::move(options)),
      rules_(options_.rules),
      revision_(revision_of(rules_)),
      logs_(loop, log_, options_.logs),
      scope_(loop) {}

Runs::~Runs() = default;

net::Task<Result<void>> Runs::resume() {
  TM_CO_TRY(auto records, co_await store_.live());
  logs_.start();
  if (!records.empty()) log_.info("resuming runs", {{"runs", records.size()}});
  co_await read_waits();
  for (Record& record : records) drive_later(std::move(record));
  store_.share({.taken = [this](std::vector<Record> taken) { adopt(std::move(taken)); },
                .cancelled = [this](std::int64_t id) { on_cancel_ordered(id); },
                .switched = [this] { wake_all(); },
                .lost = [this] { drop_all(); }});
  co_return Result<void>();
}

// For each decision: another replica may have compared meanwhile. Only whether Kubernetes comes next depends on it.
net::Task<Result<void>> Runs::read_comparison(Live& live) {
  const auto& attempts = live.record.run.attempts;
  if (!attempts.empty() && attempts.back().side == Side::kKubernetes) co_return Result<void>();
  TM_CO_TRY(const std::string run, co_await store_.text(comparison_of(live.record.job.name)));
  live.sides_differ = !run.empty();
  co_return Result<void>();
}

// Only a comparison that ended by itself says something about its job.
net::Task<void> Runs::note_comparison(const Record& record) {
  const std::string name(record.job.conf_or(kComparesConf, ""));
  const auto result = result_of(record.run);
  if (name.empty() || !result) co_return;
  const bool differs = result->end_class == EndClass::kUser;
  if (!differs && result->end_class != EndClass::kSucceeded) co_return;
  if (differs) {
    log_.warn("the sides differ: the job gets no place at Kubernetes", {{"name", name}, {"comparison", record.id}});
  }
  const auto stored = co_await store_.set_text(comparison_of(name), differs ? cat(record.id) : "");
  if (!stored) log_.error("cannot store the result of a comparison", {{"run", record.id}, {"error", stored.error()}});
}

void Runs::adopt(std::vector<Record> records) {
  for (Record& record : records) {
    const auto at = live_.find(record.id);
    if (at != live_.end() && at->second->record.epoch == record.epoch) continue;
    if (at != live_.end()) {
      at->second->replaced = true;
      at->second->changed.set();
    }
    drive_later(std::move(record));
  }
}

void Runs::drop_all() {
  scope_.clear();
  want_place_.clear();
  live_.clear();
}

void Runs::on_cancel_ordered(std::int64_t id) {
  const auto at = live_.find(id);
  if (at == live_.end() || at->second->record.cancel) return;
  at->second->record.cancel = true;
  at->second->changed.set();
}

void Runs::wake_all() {
  for (const auto& [id, live] : live_) live->changed.set();
}

void Runs::drive_later(Record record) {
  const std::int64_t id = record.id;
  const base::BackoffConfig config{.initial = options_.retry_first, .max = options_.retry_max};
  auto live = std::make_shared<Live>(loop_, std::move(record), base::Backoff(config, random_.fork()));
  live_[id] = live;
  scope_.spawn(drive(std::move(live)));
}

Quota Runs::quota_of(std::string_view business) const {
  return quota_of_ && !business.empty() ? quota_of_(business) : Quota{};
}

QuotaUse Runs::use_of(std::string_view business) const {
  QuotaUse use = store_.use_elsewhere(business);
  if (const auto at = arriving_.find(business); at != arriving_.end()) use.queued += at->second;
  for (const auto& [id, live] : live_) {
    if (live->business != business) continue;
    if (live->uses_quota) {
      ++use.running;
      use.cores += live->cores;
    } else {
      ++use.queued;
    }
  }
  return use;
}

Result<void> Runs::check_quota(const SparkJob& job) const {
  const std::string_view business = job.conf_or(kBusinessConf, "");
  const Quota quota = quota_of(business);
  if (quota == Quota{}) return {};
  const auto cores = cores_of(job);
  if (quota.cores && !cores) {
    return fail(ErrorKind::kInvalid, "spark.dynamicAllocation.maxExecutors is required: business ", business,
                " has a quota of cores");
  }
  const QuotaUse use = use_of(business);
  switch (limit_at_door(quota, use, cores.value_or(0))) {
    case QuotaLimit::kCores:
      return fail(Error{ErrorKind::kExhausted,
                        cat("exceeded quota: the job may use ", cores.value_or(0), " cores, and business ", business,
                            " has ", *quota.cores),
                        kQuotaStatus, 0});
    case QuotaLimit::kQueued:
      return fail(Error{ErrorKind::kExhausted,
                        cat("exceeded quota: ", use.queued, " runs of business ", business, " wait, and at most ",
                            *quota.queued, " may wait"),
                        kQuotaStatus, 0});
    case QuotaLimit::kRunning:
    case QuotaLimit::kNone:
      break;
  }
  return {};
}

std::string Runs::waits_for_quota(const Live& live) const {
  const Quota quota = quota_of(live.business);
  if (quota == Quota{}) return "";
  const QuotaUse use = use_of(live.business);
  const QuotaLimit limit = limit_at_start(quota, use, live.cores);
  const auto reason = reason_of(limit);
  if (!reason) return "";
  std::string numbers = limit == QuotaLimit::kCores
                            ? cat("it needs ", live.cores, ", and ", use.cores, " of ", *quota.cores, " are used")
                            : cat(use.running, " of ", *quota.running, " run");
  return cat(text_of(*reason), ": business ", live.business, ", ", numbers);
}

void Runs::wake_queued(std::string_view business) {
  if (quota_of(business) == Quota{}) return;
  for (const auto& [id, live] : live_) {
    if (!live->uses_quota && live->business == business) live->changed.set();
  }
}

net::Task<Result<Added>> Runs::add(SparkJob job, std::string key, std::string job_hash) {
  if (auto allowed = check_quota(job); !allowed) {
    // A known key is no new run.
    std::optional<Record> known;
    if (!key.empty()) {
      TM_CO_TRY(known, co_await find_key(key));
    }
    if (!known) co_return fail(std::move(allowed).error());
  }
  std::string why;
  bool possible = false;
  for (const Side side : {Side::kKubernetes, Side::kYarn}) {
    const SideClient* client = sides_[static_cast<std::size_t>(side)];
    const std::string cannot = client == nullptr ? "not configured" : client->cannot_run(job);
    possible = possible || cannot.empty();
    why += cat(why.empty() ? "" : "; ", name_of(side), ": ", cannot);
  }
  if (!possible) co_return fail(ErrorKind::kUnsupported, "no side can run the job: ", why);

  Record record;
  record.key = std::move(key);
  record.job_hash = job_hash.empty() ? hash_of(job) : std::move(job_hash);
  record.created = loop_.clock().wall();
  record.job = std::move(job);
  record.run.since = record.created;
  record.quota = quota_of(record.job.conf_or(kBusinessConf, ""));
  const std::string hash = record.job_hash;
  struct Arriving {
    std::int64_t& runs;
    explicit Arriving(std::int64_t& r) : runs(r) { ++runs; }
    ~Arriving() { --runs; }
  };
  std::optional<Arriving> arriving;
  const std::string business(record.job.conf_or(kBusinessConf, ""));
  if (quota_of(business) != Quota{}) arriving.emplace(arriving_[business]);
  TM_CO_TRY(Added added, co_await store_.add(std::move(record)));
  arriving.reset();
  if (added.existed) {
    if (added.record.job_hash != hash) {
      co_return fail(ErrorKind::kConflict, "the idempotency key belongs to another job, run ", added.record.id);
    }
    co_return added;
  }
  log_.info("run received", {{"run", added.record.id}, {"name", added.record.job.name}});
  drive_later(added.record);
  co_return added;
}

net::Task<Result<std::optional<Record>>> Runs::find(std::int64_t id) {
  if (const auto at = live_.find(id); at != live_.end()) co_return std::optional(at->second->record);
  co_return co_await store_.find(id);
}

net::Task<Result<std::optional<Record>>> Runs::find_key(std::string key) {
  TM_CO_TRY(auto found, co_await store_.find_key(std::move(key)));
  if (!found) co_return std::optional<Record>();
  co_return co_await find(found->id);
}

net::Task<Result<Page>> Runs::page(std::int64_t from, std::int64_t size, RunFilter filter) {
  return store_.page(from, size, std::move(filter));
}

net::Task<Result<void>> Runs::cancel(std::int64_t id) {
  TM_CO_TRY(const auto found, co_await find(id));
  if (!found) co_return fail(ErrorKind::kNotFound, "no run ", id);
  if (is_final(found->run.phase)) co_return Result<void>();
  TM_CO_TRY_VOID(co_await store_.order_cancel(id));
  on_cancel_ordered(id);
  co_return Result<void>();
}

net::Task<Result<void>> Runs::set_no_more_kubernetes(bool value) {
  TM_CO_TRY_VOID(co_await store_.set_no_more_kubernetes(value));
  log_.info(value ? "no more runs go to Kubernetes" : "runs go to Kubernetes again");
  wake_all();
  co_return Result<void>();
}

void Runs::set_rules(RouteRules rules) {
  rules_ = std::move(rules);
  revision_ = revision_of(rules_);
  wake_all();
}

void Runs::wake_for_room() {
  for (const auto& [id, live] : live_) {
    if (live->waits_for_room) live->changed.set();
  }
}

// Waits of earlier runs. Without them the wait is unknown until enough runs began.
net::Task<void> Runs::read_waits() {
  if (signals_ == nullptr || signals_->queues() == nullptr) co_return;
  const auto page = co_await store_.page(0, kEarlierRuns, {.user = "", .name = "", .newest_first = true});
  if (!page) {
    log_.warn("cannot read the waits of earlier runs", {{"error", page.error()}});
    co_return;
  }
  for (auto at = page->records.rbegin(); at != page->records.rend(); ++at) {
    if (!at->run.attempts.empty()) signals_->queues()->note(*at);
  }
}

// Before the first decision that depends on them.
net::Task<Result<void>> Runs::store_rules() {
  const RulesRevision revision = revision_;
  TM_CO_TRY_VOID(co_await store_.set_text(revision_key(revision.hash), revision.text));
  stored_revision_ = revision.hash;
  co_return Result<void>();
}

net::Task<std::vector<Result<Replayed>>> Runs::replay(Record record) {
  const ZoneOf utc = [](const std::string& name) -> Result<model::TimeZone> {
    return fail(ErrorKind::kInvalid, "unknown time zone ", base::in_quotes(name));
  };
  std::vector<Result<Replayed>> out;
  for (const Attempt& attempt : record.run.attempts) {
    if (attempt.inputs.empty()) {
      out.emplace_back(fail(ErrorKind::kNotFound, "the inputs of this decision are not stored"));
      continue;
    }
    const auto stored = decode_inputs(attempt.inputs);
    const auto rules = stored ? co_await store_.text(revision_key(stored->rules)) : fail(stored.error());
    out.push_back(rules ? gateway::replay(attempt, *rules, options_.zone_of ? options_.zone_of : utc)
                        : fail(rules.error()));
  }
  co_return out;
}

net::Task<bool> Runs::is_live(std::int64_t run, std::int64_t attempt) {
  const auto owns = [attempt](const Run& state) {
    return has_side(state.phase) && static_cast<std::int64_t>(state.attempts.size()) == attempt;
  };
  if (const auto at = live_.find(run); at != live_.end()) co_return owns(at->second->record.run);
  // Of another process, or ended. Each process stores its intent before it acts.
  const auto found = co_await store_.find(run);
  if (!found) co_return true;
  co_return *found&& owns((*found)->run);
}

void Runs::wake(std::int64_t run) {
  if (const auto at = live_.find(run); at != live_.end()) at->second->changed.set();
}

SideClient* Runs::side_of(const Record& record) const {
  if (record.run.attempts.empty()) return nullptr;
  return sides_[static_cast<std::size_t>(record.run.attempts.back().side)];
}

std::string Runs::app_id(const Record& record) const {
  const SideClient* side = side_of(record);
  return side == nullptr || record.run.attempts.back().handle.empty() ? "" : side->app_id(record);
}

// What the rules look at.
RouteInput Runs::input_of(const Record& record) const {
  RouteInput input;
  input.business = record.job.conf_or(kBusinessConf, "");
  input.queue = record.job.conf_or("spark.yarn.queue", "");
  input.name = record.job.name;
  input.now = loop_.clock().wall();
  return input;
}

RunFacts Runs::facts_of(const Live& live) const {
  const Record& record = live.record;
  RunFacts facts;
  const auto safe = record.job.conf_or(kRerunSafeConf, "");
  facts.rerun_safe = safe == "true" || (safe == kBeforeCommit && begun_outputs_ != nullptr);
  if (!record.run.attempts.empty()) {
    const Side side = other(record.run.attempts.back().side);
    const SideClient* rest = sides_[static_cast<std::size_t>(side)];
    const bool banned = (side == Side::kKubernetes && live.sides_differ) ||
                        (!rules_.rules.empty() && ban_of(side, input_of(record), rules_) != nullptr);
    facts.other_side_possible = rest != nullptr && !banned && rest->cannot_run(record.job).empty();
  }
  return facts;
}

RunConfig Runs::config() const {
  return {.admission_limit = options_.admission_limit, .no_more_kubernetes = store_.no_more_kubernetes()};
}

std::int64_t Runs::waiting_at_kubernetes() const {
  std::int64_t waiting = 0;
  for (const auto& [id, live] : live_) {
    if (live->waits) ++waiting;
  }
  return waiting;
}

// The oldest one. It passes its turn on if something else keeps it from Kubernetes.
void Runs::wake_next_for_place() {
  if (!want_place_.empty()) wake(*want_place_.begin());
}

RunInSight Runs::in_sight(const Live& live) const {
  const Run& run = live.record.run;
  return {.id = live.record.id,
          .business = live.business,
          .ns = live.record.job.conf_or("spark.kubernetes.namespace", ""),
          .need = live.need,
          .at_kubernetes = live.waits || (has_side(run.phase) && run.attempts.back().side == Side::kKubernetes &&
                                          !run.attempts.back().end),
          .waits_for_room = live.waits_for_room};
}

RouteSignals Runs::signals_for(const Live& live) const {
  RouteSignals out;
  out.kubernetes_waiting = waiting_at_kubernetes();
  out.no_more_kubernetes = store_.no_more_kubernetes();
  out.waited = loop_.clock().wall() - live.record.run.since;
  out.need = live.need;
  if (signals_ == nullptr) return out;
  std::vector<RunInSight> others;
  for (const auto& [id, each] : live_) {
    if (each.get() != &live && (each->waits_for_room || each->waits || each->uses_quota)) {
      others.push_back(in_sight(*each));
    }
  }
  signals_->add_to(out, in_sight(live), live.record.job.conf_or(kQueueConf, kDefaultQueue), others);
  return out;
}

Runs::Outcome Runs::route(Live& live) {
  const Record& record = live.record;
  const auto give_up_turn = [&] {
    if (want_place_.erase(record.id) > 0) wake_next_for_place();
  };
  if (std::string why = waits_for_quota(live); !why.empty()) {
    live.waits_for_room = false;
    give_up_turn();
    return {std::nullopt, std::move(why)};
  }
  RouteInput input = input_of(record);
  for (const Side side : {Side::kKubernetes, Side::kYarn}) {
    const SideClient* client = sides_[static_cast<std::size_t>(side)];
    input.possible[static_cast<std::size_t>(side)] = client != nullptr && client->cannot_run(record.job).empty();
  }
  input.pin = policy::route::side_of(record.job.conf_or(kSideConf, ""));
  if (!record.run.attempts.empty()) input.left = record.run.attempts.back().side;
  const std::uint64_t hash = base::TextHash().add(cat(store_.instance(), " ", record.id)).value();
  input.draw = static_cast<std::int64_t>(hash % kPercent);
  input.comparison_differs = live.sides_differ;
  input.signals = signals_for(live);
  const RouteDecision decision = choose_side(input, rules_);
  if (decision.reason == RouteReason::kWaitsForOthers) {
    want_place_.insert(record.id);
  } else if (decision.side != Side::kKubernetes) {
    give_up_turn();
  }
  live.waits_for_room = decision.reason == RouteReason::kWaitsForRoom;
  if (live.waits_for_room) {
    return {std::nullopt, cat(text_of(decision.reason, decision.rule), ": ", text_of_signals(input))};
  }
  if (!decision.side) return {std::nullopt, text_of(decision.reason, decision.rule)};
  Run next = on_routed(record.run, decision, loop_.clock().wall());
  next.attempts.back().inputs = encode_inputs(input, revision_.hash);
  return {std::move(next), ""};
}

net::Task<Runs::Outcome> Runs::look(Live& live) {
  const Record& record = live.record;
  const SideClient* side = side_of(record);
  if (side == nullptr) co_return Outcome{std::nullopt, "the side of the run is not configured"};
  const Observation seen = side->look(record);
  Run next = on_observed(record.run, seen, facts_of(live), config(), loop_.clock().wall());
  if (next == record.run) co_return Outcome{std::nullopt, record.message};
  if (next.phase == Phase::kEnding) {
    const auto read = co_await read_comparison(live);
    if (!read) co_return Outcome{std::nullopt, read.error().message};
    next = on_observed(record.run, seen, facts_of(live), config(), loop_.clock().wall());
  }
  co_return Outcome{std::move(next), seen.message};
}

net::Task<Runs::Outcome> Runs::submit(Live& live) {
  SideClient* side = side_of(live.record);
  const Submission answer = co_await side->submit(live.record);
  const base::WallTime now = loop_.clock().wall();
  switch (answer.outcome) {
    case Submission::Outcome::kAccepted:
      co_return Outcome{on_accepted(live.record.run, now), ""};
    case Submission::Outcome::kRefused: {
      Run next = on_refused(live.record.run, answer.why, facts_of(live), config(), now);
      if (next == live.record.run) co_return Outcome{std::nullopt, answer.message};
      co_return Outcome{std::move(next), answer.message};
    }
    case Submission::Outcome::kUnknown:
      break;
  }
  co_return Outcome{std::nullopt, answer.message};
}

net::Task<Runs::Outcome> Runs::stop(Live& live) {
  const Record& record = live.record;
  const Stopped stopped = co_await side_of(record)->stop(record);
  const base::WallTime now = loop_.clock().wall();
  switch (stopped.outcome) {
    case Stopped::Outcome::kGone:
      co_return Outcome{on_stopped(record.run, stopped.end, now), record.message};
    case Stopped::Outcome::kAbsent:
      co_return Outcome{on_stop_absent(record.run, config(), now), stopped.message};
    case Stopped::Outcome::kTooLate:
      co_return Outcome{on_stop_too_late(record.run, now), ""};
    case Stopped::Outcome::kNotYet:
      break;
  }
  co_return Outcome{std::nullopt, stopped.message};
}

net::Task<Runs::Outcome> Runs::perform(Live& live) {
  const Record& record = live.record;
  const Effect effect = effect_of(record.run);
  // The oldest run decides first, so only a run that gets a side may wait for the store. Then it decides again.
  if (effect == Effect::kRoute) {
    if (Outcome waits = route(live); !waits.next) co_return waits;
  }
  if (effect != Effect::kNone) {
    const auto read = co_await read_comparison(live);
    if (!read) co_return Outcome{std::nullopt, read.error().message};
  }
  if (effect == Effect::kRoute) {
    while (stored_revision_ != revision_.hash) {  // they may change meanwhile
      const auto stored = co_await store_rules();
      if (!stored) co_return Outcome{std::nullopt, stored.error().message};
    }
    co_return route(live);
  }
  if (effect == Effect::kNone) {
    if (record.run.phase == Phase::kReceived) co_return Outcome{queue(record.run, loop_.clock().wall()), ""};
    co_return co_await look(live);
  }
  SideClient* side = side_of(record);
  if (side == nullptr) co_return Outcome{std::nullopt, "the side of the run is not configured"};
  switch (effect) {
    case Effect::kReserve: {
      auto reserved = co_await side->reserve(record);
      if (!reserved) co_return Outcome{std::nullopt, reserved.error().message};
      co_return Outcome{on_reserved(record.run, *std::move(reserved), loop_.clock().wall()), ""};
    }
    case Effect::kSubmit:
      co_return co_await submit(live);
    case Effect::kStop:
      co_return co_await stop(live);
    case Effect::kRelease: {
      co_await update_log(record);      // before the pod of the driver may go
      RunFacts facts = facts_of(live);  // once: the rules may change during the release
      std::string message = record.message;
      // The driver is gone, so no commit begins after this.
      if (record.job.conf_or(kRerunSafeConf, "") == kBeforeCommit && will_move(record.run, facts)) {
        const auto begun = co_await begun_outputs_(record.job, record.created);
        if (!begun) co_return Outcome{std::nullopt, cat("cannot read the outputs of the job: ", begun.error().message)};
        facts.rerun_safe = begun->empty();
        if (!will_move(record.run, facts)) {
          message = cat("does not move: it has begun to commit ", base::join(*begun, ", "));
        }
      }
      const auto released = co_await side->release(record, will_move(record.run, facts));
      if (!released) co_return Outcome{std::nullopt, released.error().message};
      co_return Outcome{on_released(record.run, facts, loop_.clock().wall()), std::move(message)};
    }
    case Effect::kNone:
    case Effect::kRoute:
      break;
  }
  co_return Outcome{};
}

// Returns when the state is durable: no effect goes before that.
net::Task<Runs::Saved> Runs::save(Live& live, Run next, std::string message) {
  Record wanted = live.record;
  wanted.run = std::move(next);
  wanted.message = std::move(message);
  const bool had_side = live.uses_quota;
  wanted.quota = !had_side && has_side(wanted.run.phase) ? quota_of(live.business) : Quota{};
  const Phase before = live.record.run.phase;
  live.uses_quota = had_side || has_side(wanted.run.phase);
  const bool waited = live.waits;
  live.waits = waited || waits_at_kubernetes(wanted.run);
  if (live.waits && want_place_.erase(live.record.id) > 0) wake_next_for_place();  // there may be more places
  while (true) {
    const auto stored = co_await store_.put(wanted);
    if (stored) break;
    if (stored.error().kind == ErrorKind::kConflict) {
      log_.warn("another gateway drives the run", {{"run", wanted.id}});
      co_return Saved::kNotOurs;
    }
    if (stored.error().code == kQuotaStatus) {
      live.uses_quota = had_side;
      live.waits = waited;
      if (!waited) wake_next_for_place();
      live.record.message = stored.error().message;
      co_return Saved::kNoQuota;
    }
    log_.error("cannot store the state of a run; retrying", {{"run", wanted.id}, {"error", stored.error()}});
    co_await loop_.sleep(options_.retry_max);
  }
  log_.info("run changed", {{"run", wanted.id},
                            {"phase", name_of(wanted.run.phase)},
                            {"side", wanted.run.attempts.empty() ? "" : name_of(wanted.run.attempts.back().side)},
                            {"message", wanted.message}});
  live.record.run = std::move(wanted.run);
  live.record.message = std::move(wanted.message);
  live.uses_quota = has_side(live.record.run.phase);
  if (had_side && !live.uses_quota) wake_queued(live.business);
  live.waits = waits_at_kubernetes(live.record.run);
  if (before != Phase::kRunning && live.record.run.phase == Phase::kRunning && signals_ != nullptr &&
      signals_->queues() != nullptr) {
    signals_->queues()->note(live.record);
  }
  if (waited && !live.waits) wake_next_for_place();
  co_return Saved::kDone;
}

net::Task<void> Runs::drive(std::shared_ptr<Live> live) {
  while (!is_final(live->record.run.phase) && !live->replaced) {
    live->changed.clear();
    if (live->record.cancel && !live->record.run.cancel) {
      const Saved saved =
          co_await save(*live, on_cancel(live->record.run, loop_.clock().wall()), "cancelled by the user");
      if (saved == Saved::kNotOurs) break;
      continue;
    }
    const bool follows = effect_of(live->record.run) == Effect::kNone;
    Outcome outcome = co_await perform(*live);
    if (outcome.next && !same_except_absence(*outcome.next, live->record.run)) {
      const Saved saved = co_await save(*live, *std::move(outcome.next), std::move(outcome.message));
      if (saved == Saved::kNotOurs) break;
      if (saved == Saved::kNoQuota) {
        co_await live->changed.wait_for(live->backoff.next());
        continue;
      }
      live->backoff.reset();
      continue;
    }
    if (outcome.next) live->record.run = *std::move(outcome.next);
    if (!outcome.message.empty()) live->record.message = std::move(outcome.message);
    co_await live->changed.wait_for(follows ? options_.look_interval : live->backoff.next());
  }
  const auto forget = [&] {
    if (want_place_.erase(live->record.id) > 0) wake_next_for_place();
    if (const auto at = live_.find(live->record.id); at != live_.end() && at->second == live) live_.erase(at);
  };
  if (!is_final(live->record.run.phase)) {  // another process drives it
    forget();
    co_return;
  }
  const auto result = result_of(live->record.run);
  log_.info("run ended", {{"run", live->record.id}, {"end", result ? name_of(result->end_class) : "cancelled"}});
  co_await note_comparison(live->record);
  forget();
  for (int tries = 0; !co_await update_log(live->record) && tries < kLateReads; ++tries) {
    co_await loop_.sleep(kLateReadInterval);
  }
  co_await logs_.archive_run(live->record);
}

}  // namespace tidemark::gateway
