#include "console/settings_documents.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "console/documents.h"
#include "console/json_values.h"
#include "model/names.h"
#include "model/reason.h"
#include "operate/line_diff.h"
#include "policy/explain/rollout_text.h"
#include "policy/waterline/calendar/holidays.h"
#include "policy/waterline/calendar/preview.h"

namespace tidemark::console {
namespace {

using base::JsonWriter;
using policy::settings::StoredRevision;

constexpr std::int64_t kDay_s = 24 * 3600;
constexpr std::int64_t kMondayOffset = 3;  // 1970-01-01 is a Thursday
constexpr std::size_t kLinePointEach = 3;  // of the policy's points every third: a quarter of an hour
constexpr std::string_view kNow = "now";

base::WallTime wall(std::int64_t at_s) {
  return base::WallTime{std::chrono::seconds(at_s)};
}

std::string_view rollout_phase_word(policy::settings::Phase phase) {
  switch (phase) {
    case policy::settings::Phase::kSettled:
      return "settled";
    case policy::settings::Phase::kCanary:
      return "canary";
    case policy::settings::Phase::kSoak:
      return "soak";
    case policy::settings::Phase::kFleet:
      return "fleet";
  }
  return "settled";
}

struct RevisionNodes {
  std::int64_t wanted = 0;     // nodes that are to run it
  std::int64_t confirmed = 0;  // those of them that carry its hash: the manager wrote to them by it
};

std::map<std::string, RevisionNodes, std::less<>> count_nodes(const policy::settings::RolloutState& state, View& view,
                                                              std::string_view pool) {
  std::map<std::string, RevisionNodes, std::less<>> counts;
  for (const auto& [name, row] : view.rows()) {
    const kube::Node* node = pool.empty() || row.pool == pool ? view.node(name) : nullptr;
    if (node == nullptr) continue;
    const std::string& hash = policy::settings::in_force(state, name, view.settings().pool_of(*node).canary);
    RevisionNodes& count = counts[hash];
    ++count.wanted;
    if (node->meta.annotations.get(model::kConfigHashAnnotation) == hash) ++count.confirmed;
  }
  return counts;
}

void write_rollout(JsonWriter& json, const policy::settings::Stored& stored) {
  json.key("rollout");
  if (!stored.state || stored.state->layers.empty()) {
    json.null();
    return;
  }
  const policy::settings::RolloutState& state = *stored.state;
  json.begin_object();
  json.member("target", state.target());
  json.member("phase", rollout_phase_word(state.phase));
  json.member("text", policy::explain::rollout_phase_text(state.phase));
  json.member("began", seconds(state.began));
  json.member("looked", seconds(state.looked));
  json.key("pausedSince");
  if (state.hold) {
    json.value(seconds(state.hold->since));
    json.member("pauseReason", model::reason_id(state.hold->reason));
    json.member("pauseText", model::reason_sentence(state.hold->reason));
  } else {
    json.null();
  }
  json.end_object();
}

const policy::settings::SettingsTexts* texts_of(const operate::RevisionsNow& now, std::string_view name) {
  if (name == kNow) return &now.texts;
  const auto number = base::parse_int(name);
  const StoredRevision* found = number ? policy::settings::find_revision(now.stored.book, *number) : nullptr;
  return found == nullptr ? nullptr : &found->texts;
}

const model::Pool* find_pool(const policy::waterline::TidemarkConfig& config, std::string_view name) {
  if (config.rest.name == name) return &config.rest;
  const auto found = std::ranges::find(config.pools, name, &model::Pool::name);
  return found == config.pools.end() ? nullptr : &*found;
}

// "2026-11-23"
std::string date_text(std::int64_t day) {
  return base::format_rfc3339(wall(day * kDay_s)).substr(0, 10);
}

void write_entry(JsonWriter& json, const policy::waterline::CalendarEntry& entry) {
  json.begin_object();
  json.member("name", entry.name);
  json.member("kind", entry.kind == policy::waterline::EntryKind::kFreeze ? "freeze" : "window");
  json.member("recurring", std::holds_alternative<policy::waterline::Recurring>(entry.when));
  json.member("on", entry.on == policy::waterline::OnDays::kAll        ? "all"
                    : entry.on == policy::waterline::OnDays::kHolidays ? "holidays"
                                                                       : "workdays");
  optional_member(json, "cpu", entry.line.cpu);
  optional_member(json, "memory", entry.line.memory);
  json.member("rampUp", seconds(entry.ramp_up));
  json.member("rampDown", seconds(entry.ramp_down));
  json.member("priority", entry.priority);
  json.end_object();
}

void write_days(JsonWriter& json, const policy::waterline::Calendar& calendar, std::int64_t monday) {
  json.key("days").begin_array();
  for (std::int64_t day = monday; day < monday + 7; ++day) {
    json.begin_object();
    json.member("date", date_text(day));
    json.member("at", calendar.zone.moment(day * kDay_s));
    json.member("rest", calendar.holidays.rests(day));
    json.member("listed", std::ranges::binary_search(calendar.holidays.holidays, day));
    json.end_object();
  }
  json.end_array();
}

void write_spans(JsonWriter& json, const policy::waterline::Calendar& calendar,
                 const std::vector<policy::waterline::PreviewPoint>& points) {
  json.key("spans").begin_array();
  for (const policy::waterline::PreviewSpan& span : policy::waterline::spans(points)) {
    const model::LineTerms& cpu = span.first.cpu;
    const model::LineTerms& terms = cpu.phase == model::LinePhase::kBase ? span.first.memory : cpu;
    json.begin_object();
    json.member("from", seconds(span.from));
    json.member("to", seconds(span.to));
    json.member("phase", line_phase_word(terms.phase));
    json.member("entry", terms.entry && *terms.entry < calendar.entries.size() ? calendar.entries[*terms.entry].name
                                                                               : std::string());
    json.member("cpuFrom", cpu.hold);
    json.member("cpuTo", span.last.cpu.hold);
    json.member("memoryFrom", span.first.memory.hold);
    json.member("memoryTo", span.last.memory.hold);
    json.member("reason", model::reason_id(terms.reason));
    json.member("text", model::reason_sentence(terms.reason));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string settings_document(const operate::RevisionsNow& now, View& view, std::string_view pool) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("stored", now.is_stored);
  json.member("problem", now.stored.problem);
  write_rollout(json, now.stored);
  // What a person edited, and whether the manager took it.
  json.key("current").begin_object();
  json.member("hash", now.hash);
  const StoredRevision* taken = policy::settings::find_revision(now.stored.book, now.hash);
  optional_member(json, "revision", taken == nullptr ? std::nullopt : std::optional(taken->number));
  json.key("problems").begin_array();
  for (const auto& problem : view.settings().problems()) json.value(problem);
  json.end_array().end_object();
  std::map<std::string, RevisionNodes, std::less<>> counts;
  if (now.stored.state && !now.stored.state->layers.empty()) counts = count_nodes(*now.stored.state, view, pool);
  json.member("nodes", std::ranges::count_if(
                           view.rows(), [&](const auto& each) { return pool.empty() || each.second.pool == pool; }));
  json.key("revisions").begin_array();
  for (auto revision = now.stored.book.rbegin(); revision != now.stored.book.rend(); ++revision) {
    const auto count = counts.find(revision->hash);
    json.begin_object();
    json.member("number", revision->number);
    json.member("hash", revision->hash);
    json.member("taken", seconds(revision->taken));
    json.member("completed", revision->completed);
    json.member("nodes", count == counts.end() ? 0 : count->second.wanted);
    json.member("confirmed", count == counts.end() ? 0 : count->second.confirmed);
    json.end_object();
  }
  json.end_array().end_object();
  return out;
}

Json changes_json(const std::vector<operate::SettingsTextChange>& changes) {
  Json out = Json::array();
  for (const auto& change : changes) {
    out.as_array().push_back(
        Json::object({{"configMap", Json(change.map)},
                      {"key", Json(change.key)},
                      {"diff", Json(operate::line_diff(change.before.value_or(""), change.after.value_or("")))}}));
  }
  return out;
}

Result<std::string> settings_diff_document(const operate::RevisionsNow& now, std::string_view from, std::string_view to,
                                           std::string_view config_name) {
  for (const auto& [key, name] : {std::pair<std::string_view, std::string_view>{"from", from}, {"to", to}}) {
    if (texts_of(now, name) == nullptr) {
      return fail(ErrorKind::kNotFound, key, ": revision ", base::in_quotes(name),
                  " is not kept; expected the number of a kept revision, or now");
    }
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("from", from);
  json.member("to", to);
  json.key("changes").raw(
      changes_json(operate::changes_between(*texts_of(now, from), *texts_of(now, to), config_name)).dump());
  json.end_object();
  return out;
}

Result<std::string> calendar_document(const Settings& settings, std::string_view name, base::WallTime at,
                                      base::WallTime now) {
  const model::Pool* pool = find_pool(settings.pools(), name);
  if (pool == nullptr) return fail(ErrorKind::kNotFound, "there is no pool ", base::in_quotes(name));
  const policy::waterline::Calendar& calendar = settings.calendar_of(*pool);
  const std::int64_t today = calendar.zone.local(seconds(at)) / kDay_s;
  const std::int64_t monday = today - (today + kMondayOffset) % 7;
  const base::WallTime from = wall(calendar.zone.moment(monday * kDay_s));
  const base::WallTime to = wall(calendar.zone.moment((monday + 7) * kDay_s));
  const auto values = settings.strategy_of(*pool).values;
  const policy::waterline::LineOverrides overrides = settings.overrides_of(*pool, now);
  const auto points = policy::waterline::preview(calendar, values.cpu_reclaim_threshold_percent,
                                                 values.memory_reclaim_threshold_percent, overrides, from, to - from);
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("pool", pool->name);
  json.member("calendar", calendar.name);
  json.member("zone", calendar.zone.name());
  json.member("from", seconds(from));
  json.member("to", seconds(to));
  json.member("now", seconds(now));
  json.member("leadSeconds", seconds(calendar.lead));
  seconds_member(json, "holidaysEnd", policy::waterline::holidays_end(calendar));
  json.key("entries").begin_array();
  for (const auto& entry : calendar.entries) write_entry(json, entry);
  json.end_array();
  write_days(json, calendar, monday);
  const auto column = [&](std::string_view key, auto value) {
    json.key(key).begin_array();
    for (std::size_t i = 0; i < points.size(); i += kLinePointEach) json.value(std::int64_t{value(points[i])});
    json.end_array();
  };
  using Point = policy::waterline::PreviewPoint;
  column("at", [](const Point& point) { return seconds(point.at); });
  column("cpu", [](const Point& point) { return point.plan.cpu.hold; });
  column("memory", [](const Point& point) { return point.plan.memory.hold; });
  column("cpuSell", [](const Point& point) { return point.plan.cpu.sell; });
  write_spans(json, calendar, points);
  json.end_object();
  return out;
}

}  // namespace tidemark::console
