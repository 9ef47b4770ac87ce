#include "policy/waterline/calendar/calendar_form.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"

namespace tidemark::policy::waterline {
namespace {

using std::chrono::hours, std::chrono::minutes;

constexpr std::int64_t kFormDay_s = 86'400;
constexpr std::int64_t kLinePercentMax = 100;
constexpr std::int64_t kPriorityMax = 1'000'000;
constexpr base::Duration kRampMax = hours(24);

// "2026-11-10" or "2026-11-10T18:00", as local seconds.
std::optional<std::int64_t> local_time(std::string_view text) {
  constexpr std::size_t kDate = 10;
  constexpr std::size_t kToTheMinute = 16;
  std::optional<base::WallTime> read;
  if (text.size() == kDate) {
    read = base::parse_rfc3339(base::cat(text, "T00:00:00Z"));
  } else if (text.size() == kToTheMinute) {
    read = base::parse_rfc3339(base::cat(text, ":00Z"));
  }
  if (!read) return std::nullopt;
  return std::chrono::floor<std::chrono::seconds>(read->since_epoch).count();
}

std::optional<std::int64_t> read_time(Form& form, std::string_view key, std::string_view wanted) {
  if (!form.has(key)) return std::nullopt;
  std::string text;
  form.text(key, text);
  const auto read = local_time(text);
  if (!read && !text.empty()) form.problem(key, base::cat("wanted ", wanted, ", found ", base::in_quotes(text)));
  return read;
}

std::optional<Cron> read_cron(Form& form, std::string_view key) {
  if (!form.has(key)) return std::nullopt;
  std::string text;
  form.text(key, text);
  auto cron = Cron::parse(text);
  if (!cron) {
    if (!text.empty()) form.problem(key, cron.error().message);
    return std::nullopt;
  }
  if (!cron->next(model::TimeZone::utc(), 0))
    form.problem(key, base::cat(base::in_quotes(text), " never occurs: there is no such day"));
  return *cron;
}

void read_dates(Form& form, CalendarEntry& entry) {
  constexpr std::string_view kWanted = "a local time like 2026-11-10T18:00 or 2026-11-10";
  const auto from = read_time(form, "from", kWanted);
  const auto to = read_time(form, "to", kWanted);
  if (!form.has("from")) form.missing("from", "set the local time at which the entry starts");
  if (!form.has("to")) form.missing("to", "set the local time at which the entry ends");
  if (!from || !to) return;
  if (*to <= *from) form.problem("to", "ends before it begins");
  entry.when = FixedDates{*from, *to};
}

void read_recurring(Form& form, CalendarEntry& entry) {
  const auto start = read_cron(form, "cron");
  const auto until = read_cron(form, "until");
  base::Duration length{0};
  form.duration("for", length, minutes(1), kWindowMax);
  if (form.has("until") == form.has("for")) {
    form.problem("until", "wanted either until (when it ends, like cron) or for (how long it lasts)");
  }
  if (start && start->times_a_day() > kStartsADayMax) {
    form.problem("cron", base::cat("begins ", start->times_a_day(), " times a day; at most ", kStartsADayMax));
  }
  if (!start) return;
  Recurring recurring{*start, length};
  if (until) recurring.end = *until;
  entry.when = std::move(recurring);
}

void read_percent(Form& form, std::string_view key, std::optional<std::int64_t>& out) {
  if (!form.has(key)) return;
  std::int64_t value = -1;
  form.integer(key, value, 0, kLinePercentMax);
  if (value >= 0) out = value;
}

CalendarEntry read_entry(const Json& item, const std::string& place, std::map<std::string, std::string>& names,
                         Problems& problems) {
  Form form(&item, place, problems);
  CalendarEntry entry;
  entry.name = read_name(form, place, names);
  if (const auto kind = form.choice("kind", {"window", "freeze"})) {
    entry.kind = *kind == 0 ? EntryKind::kWindow : EntryKind::kFreeze;
  }
  const bool dates = form.has("from") || form.has("to");
  const bool recurring = form.has("cron") || form.has("until") || form.has("for");
  if (dates == recurring) {
    form.problem("cron", "wanted either cron with until or for (it recurs), or from and to (it happens once)");
    read_cron(form, "cron");
    read_cron(form, "until");
  } else if (dates) {
    read_dates(form, entry);
  } else {
    read_recurring(form, entry);
  }
  if (const auto on = form.choice("on", {"all", "holidays", "workdays"})) entry.on = static_cast<OnDays>(*on);
  read_percent(form, "cpu", entry.line.cpu);
  read_percent(form, "memory", entry.line.memory);
  if (entry.kind == EntryKind::kWindow && !form.has("cpu") && !form.has("memory")) {
    form.missing("cpu", "set the water line of this window: cpu, memory or both, in percent");
  }
  form.duration("rampUp", entry.ramp_up, base::Duration(0), kRampMax);
  form.duration("rampDown", entry.ramp_down, base::Duration(0), kRampMax);
  form.integer("priority", entry.priority, -kPriorityMax, kPriorityMax);
  form.finish();
  return entry;
}

void read_days(Form& form, std::string_view key, std::vector<std::int64_t>& out, Problems& problems) {
  form.list(key, kHolidaysMax, [&](const Json& item, std::string place) {
    const auto text = item.get_string();
    const auto day = text && text->size() == 10 ? local_time(*text) : std::nullopt;
    if (day) {
      out.push_back(*day / kFormDay_s);
    } else {
      problems.add(std::move(place), base::cat("wanted a date like 2026-10-01, found ", item.dump()));
    }
  });
  std::ranges::sort(out);
}

HolidayList read_holidays(Form& calendar, Problems& problems) {
  HolidayList list;
  Form form(calendar.member("holidays"), calendar.place("holidays"), problems);
  read_days(form, "days", list.holidays, problems);
  read_days(form, "workdays", list.workdays, problems);
  form.boolean("weekends", list.weekends);
  form.finish();
  return list;
}

Calendar read_calendar(const Json& item, const std::string& place, const Zones& zones,
                       std::map<std::string, std::string>& names, Problems& problems) {
  Form form(&item, place, problems);
  Calendar calendar;
  calendar.name = read_name(form, place, names);
  std::string zone;
  form.text("zone", zone);
  if (!form.has("zone")) {
    form.missing("zone", "set a time zone like Asia/Shanghai, or UTC");
  } else if (const model::TimeZone* rules = zones.find(zone)) {
    calendar.zone = *rules;
  } else if (!zone.empty()) {
    form.problem("zone", base::cat("unknown time zone ", base::in_quotes(zone),
                                   "; use a name like Asia/Shanghai, and install the package tzdata"));
  }
  form.duration("lead", calendar.lead, base::Duration(0), kLeadMax);
  calendar.holidays = read_holidays(form, problems);
  std::map<std::string, std::string> entry_names;
  form.list("entries", kEntriesMax, [&](const Json& each, const std::string& at) {
    calendar.entries.push_back(read_entry(each, at, entry_names, problems));
  });
  std::size_t starts_a_day = 0;
  for (const CalendarEntry& entry : calendar.entries) {
    if (const auto* recurring = std::get_if<Recurring>(&entry.when)) {
      starts_a_day += std::min(recurring->start.times_a_day(), kStartsADayMax);  // more was refused above
    }
  }
  if (starts_a_day > kAllStartsADayMax) {
    form.problem("entries", base::cat("begin up to ", starts_a_day, " times a day; at most ", kAllStartsADayMax));
  }
  form.finish();
  return calendar;
}

}  // namespace

void Zones::add(model::TimeZone zone) {
  std::string name(zone.name());
  zones_.insert_or_assign(std::move(name), std::move(zone));
}

const model::TimeZone* Zones::find(std::string_view name) const {
  static const model::TimeZone kUtc = model::TimeZone::utc();
  if (name == kUtc.name()) return &kUtc;
  const auto found = zones_.find(name);
  return found == zones_.end() ? nullptr : &found->second;
}

std::vector<std::string> zone_names(std::string_view text) {
  const auto document = base::parse_yaml(text);
  std::vector<std::string> names;
  if (!document || !document->is_object()) return names;
  const Json* calendars = document->as_object().find("calendars");
  if (calendars == nullptr || !calendars->is_array()) return names;
  const auto plain = [](std::string_view name) {
    return !name.empty() && name.size() <= 64 && name.front() != '/' && name.find("..") == std::string_view::npos &&
           name.find('\0') == std::string_view::npos;
  };
  for (const Json& calendar : calendars->as_array()) {
    if (names.size() == kCalendarsMax) break;
    const Json* zone = calendar.is_object() ? calendar.as_object().find("zone") : nullptr;
    const auto name = zone == nullptr ? std::nullopt : zone->get_string();
    if (name && plain(*name)) names.emplace_back(*name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<Calendar> read_calendars(Form& document, const Zones& zones, Problems& problems) {
  std::vector<Calendar> calendars;
  std::map<std::string, std::string> names;
  document.list("calendars", kCalendarsMax, [&](const Json& item, const std::string& place) {
    calendars.push_back(read_calendar(item, place, zones, names, problems));
  });
  return calendars;
}

}  // namespace tidemark::policy::waterline
