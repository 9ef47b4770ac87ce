#include "policy/explain/preview_text.h"

#include <array>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "policy/explain/override_text.h"
#include "policy/explain/why.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;

constexpr std::array<std::string_view, 6> kPhaseWords{"base", "rising", "open", "falling", "frozen", "overridden"};
constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

std::int64_t seconds(base::WallTime at) {
  return std::chrono::floor<std::chrono::seconds>(at.since_epoch).count();
}

std::string_view phase_word(const model::LineTerms& terms) {
  return kPhaseWords.at(static_cast<std::size_t>(terms.phase));
}

std::string_view days_word(waterline::OnDays on) {
  switch (on) {
    case waterline::OnDays::kAll:
      return "";
    case waterline::OnDays::kHolidays:
      return ", on days of rest";
    case waterline::OnDays::kWorkdays:
      return ", on working days";
  }
  return "";
}

// "60 %", "60 -> 80 %", "80 % (60 % sold)".
std::string height(const model::LineTerms& first, const model::LineTerms& last) {
  const auto way = [](std::int64_t from, std::int64_t to) {
    return from == to ? cat(to, " %") : cat(from, " -> ", to, " %");
  };
  std::string out = way(first.hold, last.hold);
  if (first.sell != first.hold || last.sell != last.hold) out += cat(" (", way(first.sell, last.sell), " sold)");
  return out;
}

// "night (rising)"; for an override "override by ann@ops (a fire drill)".
std::string cause(const model::LineTerms& terms, std::optional<std::int64_t> waterline::LinePercent::* side,
                  const PreviewView& view, base::WallTime at) {
  if (terms.phase == model::LinePhase::kOverridden) {
    const auto* line = waterline::override_at(view.overrides, side, at);
    return line == nullptr ? "override" : cat("override by ", line->who, " (", line->why, ")");
  }
  if (!terms.entry || *terms.entry >= view.calendar.entries.size()) return "base line";
  const auto& entry = view.calendar.entries[*terms.entry];
  return cat(entry.name, " (", phase_word(terms), days_word(entry.on), ")");
}

std::string span_line(const waterline::PreviewSpan& span, const PreviewView& view) {
  const std::string cpu = cause(span.first.cpu, &waterline::LinePercent::cpu, view, span.from);
  const std::string memory = cause(span.first.memory, &waterline::LinePercent::memory, view, span.from);
  std::string out =
      cat(local_text(view.calendar.zone, span.from), "  cpu ", height(span.first.cpu, span.last.cpu), ", memory ",
          height(span.first.memory, span.last.memory), "  ", cpu, ": ", why(span.first.cpu.reason));
  const bool other = memory != cpu || span.first.memory.reason != span.first.cpu.reason;
  if (other) out += cat("; memory: ", memory, ": ", why(span.first.memory.reason));
  return out + "\n";
}

Json terms_json(const model::LineTerms& terms, const PreviewView& view) {
  Json out = Json::object({{"basePercent", terms.base},
                           {"holdPercent", terms.hold},
                           {"sellPercent", terms.sell},
                           {"phase", Json(phase_word(terms))},
                           {"reason", Json(model::reason_id(terms.reason))}});
  if (terms.entry && *terms.entry < view.calendar.entries.size()) {
    out["entry"] = Json(view.calendar.entries[*terms.entry].name);
  }
  return out;
}

}  // namespace

std::string holidays_text(const waterline::Calendar& calendar, base::WallTime end) {
  const std::string last = local_text(calendar.zone, end + base::Duration(-std::chrono::seconds(1)));
  return cat("calendar ", calendar.name, ": its list of holidays ends on ", std::string_view(last).substr(0, 10),
             "; after that, entries on holidays or workdays use only the day of the week");
}

std::string local_text(const model::TimeZone& zone, base::WallTime at) {
  const std::int64_t local_s = zone.local(seconds(at));
  const std::string text = base::format_rfc3339(base::WallTime{std::chrono::seconds(local_s)});
  constexpr std::int64_t kDay_s = 86'400;
  constexpr std::int64_t kThursday = 4;  // 1970-01-01 was one
  const std::int64_t day = local_s >= 0 ? local_s / kDay_s : -((-local_s + kDay_s - 1) / kDay_s);
  const auto weekday = static_cast<std::size_t>(((day + kThursday) % 7 + 7) % 7);
  return cat(std::string_view(text).substr(0, 10), " ", kDays.at(weekday), " ", std::string_view(text).substr(11, 5));
}

std::string render_text(const PreviewView& view) {
  std::string out;
  for (const auto& span : waterline::spans(view.points)) out += span_line(span, view);
  for (const auto& each : view.overrides) out += cat("overridden: ", override_text(each), "\n");
  return out;
}

Json render_json(const PreviewView& view) {
  Json out = Json::object({{"zone", Json(view.calendar.zone.name())},
                           {"points", Json::array()},
                           {"changes", Json::array()},
                           {"overrides", Json::array()}});
  if (!view.calendar.name.empty()) out["calendar"] = Json(view.calendar.name);
  for (const auto& point : view.points) {
    out["points"].as_array().push_back(Json::object({{"at", Json(base::format_rfc3339(point.at))},
                                                     {"local", Json(local_text(view.calendar.zone, point.at))},
                                                     {"cpu", terms_json(point.plan.cpu, view)},
                                                     {"memory", terms_json(point.plan.memory, view)}}));
  }
  for (const auto& span : waterline::spans(view.points)) {
    std::string text = span_line(span, view);
    text.pop_back();
    out["changes"].as_array().push_back(
        Json::object({{"from", Json(base::format_rfc3339(span.from))},
                      {"to", Json(base::format_rfc3339(span.to))},
                      {"cpu", Json::object({{"first", span.first.cpu.hold}, {"last", span.last.cpu.hold}})},
                      {"memory", Json::object({{"first", span.first.memory.hold}, {"last", span.last.memory.hold}})},
                      {"text", Json(text)}}));
  }
  for (const auto& each : view.overrides) out["overrides"].as_array().push_back(override_json(each));
  return out;
}

}  // namespace tidemark::policy::explain
