#include "gateway/routes.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using policy::route::RouteRules;
using policy::route::RouteWindow;
using policy::route::SideRule;

constexpr std::int64_t kRoutesSchema = 1;
constexpr std::size_t kRoutesBytesMax = 1024 * 1024;
constexpr std::size_t kRouteRulesMax = 1000;
constexpr std::size_t kRouteTextMax = 255;  // runs store the rule
constexpr std::int64_t kRouteWaitingMax = 100'000;
constexpr base::Duration kYarnWaitMax = std::chrono::hours(168);
constexpr std::int64_t kMinutesOfHour = 60;
constexpr std::int64_t kHoursOfDay = 24;
constexpr std::array<std::string_view, 7> kDayNames = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr std::string_view kZonesFolder = "/usr/share/zoneinfo/";

Result<std::int64_t> number_in(const std::string& place, const Json& value, std::int64_t min, std::int64_t max) {
  const auto number = value.get_int();
  if (!number || *number < min || *number > max) {
    return fail(ErrorKind::kInvalid, place, ": a number from ", min, " to ", max, " is expected, found ", value.dump());
  }
  return *number;
}

Result<std::string> route_text_in(const std::string& place, const Json& value) {
  const auto text = value.get_string();
  if (!text || text->empty() || text->size() > kRouteTextMax) {
    return fail(ErrorKind::kInvalid, place, ": a text of at most ", kRouteTextMax, " bytes is expected, found ",
                value.dump());
  }
  return std::string(*text);
}

Result<base::Duration> duration_in(const std::string& place, const Json& value) {
  const auto duration = base::parse_go_duration(value.get_string().value_or(""));
  if (!duration || *duration < base::Duration(0) || *duration > kYarnWaitMax) {
    return fail(ErrorKind::kInvalid, place, ": a duration from \"0s\" to \"168h\" is expected, found ", value.dump());
  }
  return *duration;
}

// HH:MM as minutes; 24:00 is the end of the day.
Result<std::int64_t> minute_in(const std::string& place, const Json& value) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string_view text = value.get_string().value_or("");
  if (text.size() == 5 && text[2] == ':' && digit(text[0]) && digit(text[1]) && digit(text[3]) && digit(text[4])) {
    const std::int64_t hour = (text[0] - '0') * 10 + (text[1] - '0');
    const std::int64_t minute = (text[3] - '0') * 10 + (text[4] - '0');
    const std::int64_t out = hour * kMinutesOfHour + minute;
    if (minute < kMinutesOfHour && out <= kHoursOfDay * kMinutesOfHour) return out;
  }
  return fail(ErrorKind::kInvalid, place, ": a time from \"00:00\" to \"24:00\" is expected, found ", value.dump());
}

Result<std::bitset<7>> days_in(const std::string& place, const Json& value) {
  if (!value.is_array() || value.as_array().empty()) {
    return fail(ErrorKind::kInvalid, place, ": a list of days is expected, found ", value.dump());
  }
  std::bitset<7> out;
  for (const Json& each : value.as_array()) {
    const auto at = std::ranges::find(kDayNames, each.get_string().value_or(""));
    if (at == kDayNames.end()) {
      return fail(ErrorKind::kInvalid, place, ": mon, tue, wed, thu, fri, sat or sun is expected, found ", each.dump());
    }
    const auto day = static_cast<std::size_t>(at - kDayNames.begin());
    if (out.test(day)) return fail(ErrorKind::kInvalid, place, ": ", *at, " is given twice");
    out.set(day);
  }
  return out;
}

// The fields of a window as they stand in a rule.
struct WindowFields {
  std::optional<std::int64_t> from;
  std::optional<std::int64_t> to;
  std::optional<std::bitset<7>> days;
  std::optional<model::TimeZone> zone;
};

Result<std::optional<RouteWindow>> window_of(const std::string& place, WindowFields fields) {
  if (!fields.from && !fields.to && !fields.days && !fields.zone) return std::optional<RouteWindow>();
  if (!fields.from || !fields.to) {
    return fail(ErrorKind::kInvalid, place, ": a window needs both from and to");
  }
  if (*fields.from == *fields.to || *fields.from == kHoursOfDay * kMinutesOfHour) {
    return fail(ErrorKind::kInvalid, place, ": the window is empty; the whole day is from \"00:00\" to \"24:00\"");
  }
  RouteWindow out;
  out.from_minute = *fields.from;
  out.to_minute = *fields.to;
  out.days = fields.days ? *fields.days : std::bitset<7>().set();
  if (fields.zone) out.zone = *std::move(fields.zone);
  return std::optional(std::move(out));
}

Result<SideRule> side_rule_of(const std::string& place, const Json& json, const ZoneOf& zone_of) {
  if (!json.is_object()) return fail(ErrorKind::kInvalid, place, ": an object is expected, found ", json.dump());
  SideRule out;
  out.label = cat(place, " ", json.dump());
  WindowFields window;
  bool has_side = false;
  for (const auto& [key, value] : json.as_object()) {
    const std::string inside = cat(place, ".", key);
    if (key == "business") {
      TM_TRY(out.business, route_text_in(inside, value));
    } else if (key == "queue") {
      TM_TRY(out.queue, route_text_in(inside, value));
    } else if (key == "namePrefix") {
      TM_TRY(out.name_prefix, route_text_in(inside, value));
    } else if (key == "side") {
      const auto side = policy::route::side_of(value.get_string().value_or(""));
      if (!side) {
        return fail(ErrorKind::kInvalid, inside, ": kubernetes or yarn is expected, found ", value.dump());
      }
      out.side = *side;
      has_side = true;
    } else if (key == "ban") {
      if (!value.is_bool()) {
        return fail(ErrorKind::kInvalid, inside, ": true or false is expected, found ", value.dump());
      }
      out.ban = value.as_bool();
    } else if (key == "from") {
      TM_TRY(window.from, minute_in(inside, value));
    } else if (key == "to") {
      TM_TRY(window.to, minute_in(inside, value));
    } else if (key == "days") {
      TM_TRY(window.days, days_in(inside, value));
    } else if (key == "timeZone") {
      TM_TRY(const std::string name, route_text_in(inside, value));
      auto zone = zone_of(name);
      if (!zone) return fail(std::move(zone).error().within(inside));
      window.zone = *std::move(zone);
    } else {
      return fail(ErrorKind::kInvalid, place, ": unknown key ", base::in_quotes(key));
    }
  }
  if (!has_side) return fail(ErrorKind::kInvalid, place, ".side is required");
  TM_TRY(out.window, window_of(place, std::move(window)));
  return out;
}

std::string clock_text(std::int64_t minute) {
  const auto two = [](std::int64_t number) { return cat(number < 10 ? "0" : "", number); };
  return cat(two(minute / kMinutesOfHour), ":", two(minute % kMinutesOfHour));
}

Json rule_json(const SideRule& rule) {
  Json out = Json::object({{"side", policy::route::name_of(rule.side)}, {"ban", rule.ban}});
  if (!rule.business.empty()) out["business"] = Json(rule.business);
  if (!rule.queue.empty()) out["queue"] = Json(rule.queue);
  if (!rule.name_prefix.empty()) out["namePrefix"] = Json(rule.name_prefix);
  if (!rule.window) return out;
  out["from"] = Json(clock_text(rule.window->from_minute));
  out["to"] = Json(clock_text(rule.window->to_minute));
  Json days = Json::array();
  for (std::size_t day = 0; day < kDayNames.size(); ++day) {
    if (rule.window->days.test(day)) days.as_array().emplace_back(kDayNames[day]);
  }
  out["days"] = std::move(days);
  // The default is no file of the machine.
  if (rule.window->zone.name() != model::TimeZone::utc().name()) out["timeZone"] = Json(rule.window->zone.name());
  return out;
}

Result<model::TimeZone> zone_of_machine(const kube::Files& files, const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '-' || c == '+';
  };
  if (name.starts_with('/') || !std::ranges::all_of(name, plain)) {
    return fail(ErrorKind::kInvalid, "a time zone such as Europe/Berlin is expected, found ", base::in_quotes(name));
  }
  const auto bytes = files.read(cat(kZonesFolder, name), model::TimeZone::kBytesMax);
  if (!bytes) return fail(ErrorKind::kInvalid, "unknown time zone ", base::in_quotes(name));
  return model::TimeZone::parse(name, *bytes);
}

}  // namespace

Result<RouteRules> parse_routes(std::string_view yaml, RouteRules defaults, const ZoneOf& zone_of) {
  TM_TRY(const Json json, base::parse_yaml(yaml));
  if (!json.is_object()) return fail(ErrorKind::kInvalid, "an object is expected");
  const Json* schema = json.at("schema");
  if (schema == nullptr || schema->get_int() != kRoutesSchema) {
    return fail(ErrorKind::kUnsupported, "schema: ", kRoutesSchema, " is expected, found ",
                schema == nullptr ? "none" : schema->dump());
  }
  RouteRules out = std::move(defaults);
  for (const auto& [key, value] : json.as_object()) {
    if (key == "schema") continue;
    if (key == "kubernetesPercent") {
      TM_TRY(out.kubernetes_percent, number_in(key, value, 0, 100));
    } else if (key == "kubernetesWaitingMax") {
      TM_TRY(out.kubernetes_waiting_max, number_in(key, value, 1, kRouteWaitingMax));
    } else if (key == "ownerKeepsPercent") {
      TM_TRY(out.owner_keeps_percent, number_in(key, value, 0, 100));
    } else if (key == "yarnWaitMax") {
      TM_TRY(out.yarn_wait_max, duration_in(key, value));
    } else if (key == "rules") {
      if (!value.is_array() || value.as_array().size() > kRouteRulesMax) {
        return fail(ErrorKind::kInvalid, "rules: a list of at most ", kRouteRulesMax, " rules is expected");
      }
      for (const Json& each : value.as_array()) {
        TM_TRY(auto rule, side_rule_of(cat("rules[", out.rules.size(), "]"), each, zone_of));
        out.rules.push_back(std::move(rule));
      }
    } else {
      return fail(ErrorKind::kInvalid, "top level: unknown key ", base::in_quotes(key));
    }
  }
  return out;
}

Json routes_json(const RouteRules& rules) {
  Json out = Json::object({{"schema", kRoutesSchema},
                           {"kubernetesPercent", rules.kubernetes_percent},
                           {"kubernetesWaitingMax", rules.kubernetes_waiting_max},
                           {"ownerKeepsPercent", rules.owner_keeps_percent}});
  if (rules.yarn_wait_max) out["yarnWaitMax"] = Json(base::format_go_duration(*rules.yarn_wait_max));
  Json list = Json::array();
  for (const SideRule& rule : rules.rules) list.as_array().push_back(rule_json(rule));
  out["rules"] = std::move(list);
  return out;
}

ZoneOf zones_of_machine(kube::Files files) {
  return [files = std::move(files)](const std::string& name) { return zone_of_machine(files, name); };
}

RoutesFile::RoutesFile(net::EventLoop& loop, const base::Log& log, kube::Files files, std::string file,
                       RouteRules defaults, base::Duration read_interval)
    : loop_(loop),
      log_(log.named("routes")),
      files_(std::move(files)),
      file_(std::move(file)),
      defaults_(std::move(defaults)),
      read_interval_(read_interval) {}

Result<std::unique_ptr<RoutesFile>> RoutesFile::open(net::EventLoop& loop, const base::Log& log, kube::Files files,
                                                     std::string file, RouteRules defaults,
                                                     base::Duration read_interval) {
  auto made = std::unique_ptr<RoutesFile>(
      new RoutesFile(loop, log, std::move(files), std::move(file), std::move(defaults), read_interval));
  TM_TRY_VOID(made->read());
  made->read_later();
  return made;
}

Result<bool> RoutesFile::read() {
  TM_TRY(std::string text, files_.read(file_, kRoutesBytesMax));
  if (text == text_) return false;
  text_ = std::move(text);  // a wrong text is reported once
  auto rules = parse_routes(*text_, defaults_, zones_of_machine(files_));
  if (!rules) return fail(std::move(rules).error().within(file_));
  rules_ = *std::move(rules);
  return true;
}

void RoutesFile::read_later() {
  timer_ = loop_.after(read_interval_, [this] {
    const auto changed = read();
    if (!changed) {
      log_.error("cannot use routing file; the last good one stays in force", {{"error", changed.error()}});
    } else if (*changed) {
      log_.info("routing file read again", {{"file", file_}});
      if (on_change_) on_change_(rules_);
    }
    read_later();
  });
}

}  // namespace tidemark::gateway
