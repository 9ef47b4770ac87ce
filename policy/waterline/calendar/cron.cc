#include "policy/waterline/calendar/cron.h"

#include <array>
#include <charconv>
#include <chrono>
#include <span>

#include "base/text.h"

namespace tidemark::policy::waterline {
namespace {

constexpr std::int64_t kCronDay_s = 86'400;

struct CronField {
  std::string_view name;
  int lowest;
  int highest;
  std::span<const std::string_view> words;  // names of the values from `lowest` on
};
constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr CronField kMinute{"minute", 0, 59, {}};
constexpr CronField kHour{"hour", 0, 23, {}};
constexpr CronField kDay{"day of month", 1, 31, {}};
constexpr CronField kMonth{"month", 1, 12, kMonths};
constexpr CronField kWeekday{"day of week", 0, 7, kWeekdays};  // 7 is Sunday too

std::unexpected<Error> wrong(const CronField& field, std::string_view text) {
  return fail(ErrorKind::kInvalid, field.name, ": wanted *, or numbers from ", field.lowest, " to ", field.highest,
              field.words.empty() ? "" : " or names", " as in 1-5,8 or */2, found ",
              base::in_quotes(std::string(text)));
}

std::optional<int> value_of(const CronField& field, std::string_view text) {
  for (std::size_t i = 0; i < field.words.size(); ++i) {
    if (base::lower(text) == field.words[i]) return field.lowest + static_cast<int>(i);
  }
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < field.lowest || value > field.highest) return std::nullopt;
  return value;
}

// One item of a list: *, 5, 1-5, each with an optional /step.
template <std::size_t Size>
bool add_part(const CronField& field, std::string_view part, std::bitset<Size>& out) {
  int step = 1;
  if (const auto slash = part.find('/'); slash != std::string_view::npos) {
    const auto text = part.substr(slash + 1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
    if (error != std::errc() || end != text.data() + text.size() || step < 1 || step > field.highest) return false;
    part = part.substr(0, slash);
    // cron implementations disagree about "5/2"
    if (part != "*" && part.find('-') == std::string_view::npos) return false;
  }
  int first = field.lowest;
  int last = field.highest;
  if (part != "*") {
    const auto dash = part.find('-');
    const auto from = value_of(field, part.substr(0, dash));
    const auto to = dash == std::string_view::npos ? from : value_of(field, part.substr(dash + 1));
    if (!from || !to || *to < *from) return false;
    first = *from;
    last = *to;
  }
  for (int value = first; value <= last; value += step) {
    out.set(static_cast<std::size_t>(value) % (Size == 7 ? 7 : Size));
  }
  return true;
}

template <std::size_t Size>
Result<void> add_field(const CronField& field, std::string_view text, std::bitset<Size>& out) {
  for (const auto part : base::split(text, ',')) {
    if (!add_part(field, part, out)) return wrong(field, text);
  }
  return {};
}

std::int64_t cron_day(std::int64_t seconds) {
  return seconds >= 0 ? seconds / kCronDay_s : -((-seconds + kCronDay_s - 1) / kCronDay_s);
}

}  // namespace

Result<Cron> Cron::parse(std::string_view text) {
  std::vector<std::string_view> fields;
  for (const auto field : base::split(text, ' ')) {
    if (!field.empty()) fields.push_back(field);
  }
  if (fields.size() != 5) {
    return fail(ErrorKind::kInvalid, "wanted five fields (minute, hour, day of month, month, day of week), found ",
                fields.size(), " in ", base::in_quotes(std::string(text)));
  }
  Cron cron;
  TM_TRY_VOID(add_field(kMinute, fields[0], cron.minutes_));
  TM_TRY_VOID(add_field(kHour, fields[1], cron.hours_));
  TM_TRY_VOID(add_field(kDay, fields[2], cron.days_));
  TM_TRY_VOID(add_field(kMonth, fields[3], cron.months_));
  TM_TRY_VOID(add_field(kWeekday, fields[4], cron.weekdays_));
  cron.any_day_ = fields[2] == "*";
  cron.any_weekday_ = fields[4] == "*";
  return cron;
}

bool Cron::on_day(std::int64_t day) const {
  using namespace std::chrono;
  const sys_days date{days(day)};
  const year_month_day parts(date);
  if (!months_.test(static_cast<unsigned>(parts.month()))) return false;
  const bool by_date = days_.test(static_cast<unsigned>(parts.day()));
  const bool by_weekday = weekdays_.test(weekday(date).c_encoding());
  if (any_day_ || any_weekday_) return by_date && by_weekday;
  return by_date || by_weekday;
}

// Visits the moments in order from `from_s` on, until `visit` returns false or the search ends.
template <class Visit>
void Cron::visit(const model::TimeZone& zone, std::int64_t from_s, Visit&& visit) const {
  const std::int64_t today = cron_day(zone.local(from_s));
  std::optional<std::int64_t> last;
  // Starts one day early: a jump may move yesterday's last moment to now.
  for (std::int64_t day = today - 1; day <= today + kSearchDays; ++day) {
    if (!on_day(day)) continue;
    for (std::size_t hour = 0; hour < hours_.size(); ++hour) {
      if (!hours_.test(hour)) continue;
      for (std::size_t minute = 0; minute < minutes_.size(); ++minute) {
        if (!minutes_.test(minute)) continue;
        const auto of_day = static_cast<std::int64_t>(hour * 3600 + minute * 60);
        const std::int64_t moment = zone.moment(day * kCronDay_s + of_day);
        // Several times skipped by one jump are one moment; moments never go back.
        if (moment < from_s || (last && moment <= *last)) continue;
        last = moment;
        if (!visit(moment)) return;
      }
    }
  }
}

std::optional<std::int64_t> Cron::next(const model::TimeZone& zone, std::int64_t utc_s) const {
  std::optional<std::int64_t> found;
  visit(zone, utc_s + 1, [&](std::int64_t moment) {
    found = moment;
    return false;
  });
  return found;
}

std::optional<std::int64_t> Cron::latest(const model::TimeZone& zone, std::int64_t utc_s) const {
  const std::int64_t today = cron_day(zone.local(utc_s));
  // Starts one day late: local times that occur twice around midnight count at their first occurrence.
  for (std::int64_t day = today + 1; day >= today - kSearchDays; --day) {
    if (!on_day(day) || zone.moment(day * kCronDay_s) > utc_s) continue;
    for (std::size_t hour = hours_.size(); hour-- > 0;) {
      if (!hours_.test(hour)) continue;
      for (std::size_t minute = minutes_.size(); minute-- > 0;) {
        if (!minutes_.test(minute)) continue;
        const auto of_day = static_cast<std::int64_t>(hour * 3600 + minute * 60);
        if (const std::int64_t moment = zone.moment(day * kCronDay_s + of_day); moment <= utc_s) return moment;
      }
    }
  }
  return std::nullopt;
}

std::vector<std::int64_t> Cron::between(const model::TimeZone& zone, std::int64_t from_s, std::int64_t to_s) const {
  std::vector<std::int64_t> found;
  visit(zone, from_s, [&](std::int64_t moment) {
    if (moment >= to_s) return false;
    found.push_back(moment);
    return true;
  });
  return found;
}

}  // namespace tidemark::policy::waterline
