#include "policy/evict/budget/stored.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "model/settings/evict_settings.h"

namespace tidemark::policy::evict {
namespace {

using base::JsonWriter;

constexpr std::int64_t kStoredCountMax = std::int64_t{1} << 40;
constexpr std::int64_t kCoolDownMax_s = std::int64_t{3600} * 24 * 30;
constexpr std::size_t kSlotsMax = 200;  // a day has 145
constexpr std::array kPhases{BreakerPhase::kClosed, BreakerPhase::kOpen, BreakerPhase::kProbation};

void begin(JsonWriter& json) {
  json.begin_object().member("schema", kBudgetSchema).member("policy", kBudgetPolicyVersion);
}

void write_time(JsonWriter& json, std::string_view name, base::WallTime when) {
  json.member(name, base::format_rfc3339_micro(when));
}

// Reads with the precision that is written.
std::optional<base::WallTime> read_time(std::string_view text) {
  const auto when = base::parse_rfc3339(text);
  if (!when) return std::nullopt;
  return base::WallTime{std::chrono::floor<std::chrono::microseconds>(when->since_epoch)};
}

std::int64_t whole_seconds(base::Duration duration) {
  return std::chrono::floor<std::chrono::seconds>(duration).count();
}

std::unexpected<Error> lacks(std::string_view what) {
  return fail(ErrorKind::kInvalid, what, " is missing or not what it should be");
}

Result<Json> read_object(std::string_view text) {
  if (text.size() > kBudgetBytesMax) return fail(ErrorKind::kExhausted, text.size(), " bytes");
  TM_TRY(auto value, Json::parse(text));
  if (!value.is_object()) return fail(ErrorKind::kInvalid, "wanted an object");
  const Json* schema = value.member("schema");
  const std::int64_t written = schema == nullptr ? 0 : schema->get_int().value_or(0);
  if (written > kBudgetSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", written, "; this version reads ", kBudgetSchema);
  }
  if (written != kBudgetSchema) return lacks("schema");
  return value;
}

std::int64_t number(const Json& value, std::string_view key, std::int64_t most = kStoredCountMax) {
  const Json* found = value.member(key);
  return std::clamp<std::int64_t>(found == nullptr ? 0 : found->get_int().value_or(0), 0, most);
}

bool truth(const Json& value, std::string_view key) {
  const Json* found = value.member(key);
  return found != nullptr && found->get_bool().value_or(false);
}

const Json::Array& list(const Json& value, std::string_view key) {
  static const Json::Array kNone;
  const Json* found = value.member(key);
  return found == nullptr || !found->is_array() ? kNone : found->as_array();
}

std::string name_at(const Json& value, std::string_view key) {
  return std::string(value.text_at(key).substr(0, kNameMax));
}

Result<PoolBudget> read_pool(const Json& value) {
  PoolBudget pool;
  pool.pool = name_at(value, "name");
  if (pool.pool.empty()) return lacks("pools.name");
  const std::string_view phase = value.text_at("breaker", "phase");
  const auto at = std::ranges::find(kPhases, phase, [](BreakerPhase each) { return to_string(each); });
  if (at == kPhases.end()) return lacks("pools.breaker.phase");
  pool.breaker.phase = *at;
  if (pool.breaker.phase != BreakerPhase::kClosed) {
    const Json& breaker = *value.member("breaker");
    const auto since = read_time(breaker.text_at("since"));
    if (!since) return lacks("pools.breaker.since");
    pool.breaker.since = *since;
    pool.breaker.cool_down = std::chrono::seconds(number(breaker, "coolDownSeconds", kCoolDownMax_s));
    pool.breaker.seen = {number(breaker, "evicted"), number(breaker, "finished")};
  }
  if (const Json* over = value.member("overReport"); over != nullptr && over->is_object()) {
    pool.over_report.fallen_back = truth(*over, "givenUp");
    if (pool.over_report.fallen_back && over->member("calmSeconds") != nullptr) {
      pool.over_report.calm_s = number(*over, "calmSeconds", sell::kEvictionCalmNeeded_s);
    }
  }
  pool.exhausted = truth(value, "exhausted");
  if (value.member("perNodeHour") != nullptr)
    pool.node_per_hour = number(value, "perNodeHour", model::kEvictionsPerHourMax);
  for (const Json& job : list(value, "jobsExhausted")) {
    if (job.is_string() && pool.jobs.size() < kJobsTold) pool.jobs.emplace_back(job.as_string().substr(0, kNameMax));
  }
  std::ranges::sort(pool.jobs);
  pool.jobs.erase(std::ranges::unique(pool.jobs).begin(), pool.jobs.end());
  return pool;
}

// [[slot, evicted, finished], …]
void write_series(JsonWriter& json, const Series& series) {
  json.begin_array();
  for (const auto& slot : series.slots) {
    json.begin_array().value(slot.index).value(slot.ended.evicted).value(slot.ended.finished).end_array();
  }
  json.end_array();
}

Result<Series> read_series(const Json& value, std::string_view what) {
  Series series;
  for (const Json& each : list(value, "slots")) {
    if (!each.is_array() || each.as_array().size() != 3) return lacks(what);
    std::array<std::int64_t, 3> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto read = each.as_array()[i].get_int();
      if (!read) return lacks(what);
      numbers.at(i) = *read;
    }
    const auto [index, evicted, finished] = numbers;
    if (!series.slots.empty() && series.slots.back().index >= index) return lacks(what);
    if (series.slots.size() >= kSlotsMax) return lacks(what);
    series.slots.push_back({index,
                            {std::clamp<std::int64_t>(evicted, 0, kStoredCountMax),
                             std::clamp<std::int64_t>(finished, 0, kStoredCountMax)}});
  }
  return series;
}

Result<void> read_all(const Json& value, std::string_view key, std::string_view second, std::size_t most,
                      std::map<PoolAnd, Series>& out) {
  for (const Json& each : list(value, key)) {
    TM_TRY(auto series, read_series(each, key));
    PoolAnd name{name_at(each, "pool"), name_at(each, second)};
    if (name.first.empty()) return lacks(base::cat(key, ".pool"));
    if (out.size() >= most || series.slots.empty()) continue;
    out.insert_or_assign(std::move(name), std::move(series));
  }
  return {};
}

void write_all(JsonWriter& json, std::string_view key, std::string_view second, const std::map<PoolAnd, Series>& all) {
  json.key(key).begin_array();
  for (const auto& [name, series] : all) {
    json.begin_object().member("pool", std::string_view(name.first)).member(second, std::string_view(name.second));
    json.key("slots");
    write_series(json, series);
    json.end_object();
  }
  json.end_array();
}

using Minutes = std::map<std::string, Series, std::less<>>;  // by pool

void write_minutes(JsonWriter& json, std::string_view key, const Minutes& minutes) {
  if (minutes.empty()) return;
  json.key(key).begin_array();
  for (const auto& [pool, series] : minutes) {
    json.begin_object().member("pool", std::string_view(pool)).key("slots");
    write_series(json, series);
    json.end_object();
  }
  json.end_array();
}

Result<void> read_minutes(const Json& value, std::string_view key, Minutes& out) {
  for (const Json& each : list(value, key)) {
    TM_TRY(auto series, read_series(each, key));
    std::string pool = name_at(each, "pool");
    if (pool.empty()) return lacks(base::cat(key, ".pool"));
    if (out.size() < kPoolSeriesMax && !series.slots.empty()) out.insert_or_assign(std::move(pool), std::move(series));
  }
  return {};
}

}  // namespace

std::string resume_key(std::string_view id) {
  return base::cat(kResumeKeys, base::TextHash().add(id).hex(), ".json");
}

std::string encode_budgets(const BudgetState& state) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  write_time(json, "at", state.looked);
  json.member("request", std::string_view(state.request));
  if (!state.taken.empty()) {
    json.key("taken").begin_array();
    for (const auto& id : state.taken) json.value(std::string_view(id));
    json.end_array();
  }
  json.key("pools").begin_array();
  for (const auto& pool : state.pools) {
    json.begin_object().member("name", std::string_view(pool.pool));
    json.key("breaker").begin_object().member("phase", to_string(pool.breaker.phase));
    if (pool.breaker.phase != BreakerPhase::kClosed) {
      write_time(json, "since", pool.breaker.since);
      json.member("coolDownSeconds", whole_seconds(pool.breaker.cool_down));
      json.member("evicted", pool.breaker.seen.evicted).member("finished", pool.breaker.seen.finished);
    }
    json.end_object();
    if (pool.over_report.fallen_back) {
      json.key("overReport").begin_object().member("givenUp", true);
      if (pool.over_report.calm_s) json.member("calmSeconds", *pool.over_report.calm_s);
      json.end_object();
    }
    json.member("exhausted", pool.exhausted);
    if (pool.node_per_hour) json.member("perNodeHour", *pool.node_per_hour);
    json.key("jobsExhausted").begin_array();
    for (const auto& job : pool.jobs) json.value(std::string_view(job));
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return out;
}

Result<BudgetState> decode_budgets(std::string_view text) {
  TM_TRY(const Json value, read_object(text));
  BudgetState state;
  const auto looked = read_time(value.text_at("at"));
  if (!looked) return lacks("at");
  state.looked = *looked;
  state.request = name_at(value, "request");
  for (const Json& id : list(value, "taken")) {
    if (id.is_string() && state.taken.size() < kResumeRequestsMax) {
      state.taken.emplace_back(id.as_string().substr(0, kNameMax));
    }
  }
  std::ranges::sort(state.taken);
  for (const Json& each : list(value, "pools")) {
    TM_TRY(auto pool, read_pool(each));
    if (state.pools.size() < kPoolSeriesMax) state.pools.push_back(std::move(pool));
  }
  std::ranges::sort(state.pools, {}, &PoolBudget::pool);
  const auto twice = std::ranges::adjacent_find(state.pools, {}, &PoolBudget::pool);
  if (twice != state.pools.end())
    return fail(ErrorKind::kInvalid, "pool ", base::in_quotes(twice->pool), " appears twice");
  return state;
}

namespace {

std::int64_t evicted_in_all(const Series& series) {
  std::int64_t sum = 0;
  for (const auto& slot : series.slots) sum += slot.ended.evicted;
  return sum;
}

// Merges slots older than two hours into one per hour: the sums stay, the time gets coarser.
void coarsen(Series& series, std::int64_t until) {
  constexpr std::int64_t kAnHour = std::chrono::hours(1) / kSlot;
  std::vector<Series::Slot> kept;
  for (const auto& slot : series.slots) {
    const bool old = until - slot.index > 2 * kAnHour;
    const std::int64_t index = old ? slot.index - slot.index % kAnHour : slot.index;
    if (!kept.empty() && kept.back().index == index) {
      kept.back().ended += slot.ended;
    } else {
      kept.push_back({index, slot.ended});
    }
  }
  series.slots = std::move(kept);
}

// Drops the half of the jobs with the fewest evictions, and counts the evictions dropped.
void drop_least_evicted(EvictionBook& book) {
  std::vector<std::pair<std::int64_t, PoolAnd>> jobs;
  for (const auto& [name, series] : book.jobs) jobs.emplace_back(evicted_in_all(series), name);
  std::ranges::sort(jobs);
  jobs.resize((jobs.size() + 1) / 2);
  for (const auto& [evicted, name] : jobs) {
    book.left_out += evicted;
    book.jobs.erase(name);
  }
}

std::string written(const EvictionBook& book) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  write_time(json, "until", book.until);
  json.member("slotSeconds", whole_seconds(kSlot));
  json.member("leftOut", book.left_out);
  write_all(json, "classes", "class", book.classes);
  write_all(json, "jobs", "job", book.jobs);
  write_minutes(json, "minutes", book.minutes);
  write_minutes(json, "preempted", book.preempted);
  json.end_object();
  return out;
}

}  // namespace

std::string encode_counts(const EvictionBook& book) {
  std::string out = written(book);
  if (out.size() <= kCountsBytesMax) return out;
  EvictionBook less = book;
  const std::int64_t until = less.until.since_epoch / kSlot;
  for (auto& [name, series] : less.classes) coarsen(series, until);
  for (auto& [name, series] : less.jobs) coarsen(series, until);
  while ((out = written(less)).size() > kCountsBytesMax && !less.jobs.empty()) drop_least_evicted(less);
  // Then drops classes, by name: the rest of a day fits.
  while (out.size() > kCountsBytesMax && !less.classes.empty()) {
    less.classes.erase(std::prev(less.classes.end()));
    if (less.classes.size() % 16 == 0) out = written(less);
  }
  return out;
}

Result<EvictionBook> decode_counts(std::string_view text) {
  TM_TRY(const Json value, read_object(text));
  EvictionBook book;
  const auto until = read_time(value.text_at("until"));
  if (!until) return lacks("until");
  book.until = *until;
  if (number(value, "slotSeconds") != whole_seconds(kSlot)) return lacks("slotSeconds");
  book.left_out = number(value, "leftOut");
  TM_TRY_VOID(read_all(value, "classes", "class", kClassSeriesMax + kPoolSeriesMax, book.classes));
  TM_TRY_VOID(read_all(value, "jobs", "job", kJobSeriesMax, book.jobs));
  TM_TRY_VOID(read_minutes(value, "minutes", book.minutes));
  TM_TRY_VOID(read_minutes(value, "preempted", book.preempted));
  return book;
}

std::string encode_grants(const OperatorGrants& grants) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  json.key("pools").begin_array();
  for (const auto& [pool, grant] : grants) {
    json.begin_object().member("name", std::string_view(pool));
    write_grant(json, "yarnOperator", grant);
    json.end_object();
  }
  json.end_array().end_object();
  return out;
}

Result<OperatorGrants> decode_grants(std::string_view text) {
  TM_TRY(const Json value, read_object(text));
  OperatorGrants grants;
  for (const Json& each : list(value, "pools")) {
    std::string pool = name_at(each, "name");
    if (pool.empty()) return lacks("pools.name");
    TM_TRY(auto grant, read_grant(each, "yarnOperator"));
    if (grants.size() < kPoolSeriesMax) grants.insert_or_assign(std::move(pool), std::move(grant));
  }
  return grants;
}

std::string encode_resume(const ResumeRequest& request) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  json.member("id", std::string_view(request.id)).member("verb", "resume");
  json.member("pool", std::string_view(request.pool)).member("reason", std::string_view(request.why));
  write_time(json, "at", request.at);
  json.end_object();
  return out;
}

Result<ResumeRequest> decode_resume(std::string_view text) {
  TM_TRY(const Json value, read_object(text));
  if (value.text_at("verb") != "resume") return lacks("verb");
  ResumeRequest request;
  request.id = name_at(value, "id");
  request.pool = name_at(value, "pool");
  if (request.id.empty() || request.pool.empty()) return lacks("id or pool");
  request.why = name_at(value, "reason");
  const auto at = read_time(value.text_at("at"));
  if (!at) return lacks("at");
  request.at = *at;
  return request;
}

}  // namespace tidemark::policy::evict
