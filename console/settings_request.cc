#include "console/settings_request.h"

#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/settings/config/parse.h"
#include "policy/state/overrides.h"

namespace tidemark::console {
namespace {

using base::cat;
using base::in_quotes;

constexpr base::Duration kPauseMax = std::chrono::hours(24 * 30);
constexpr std::size_t kTextChangesMax = 100;
constexpr std::size_t kTextPlaceMax = 20;  // steps
constexpr std::int64_t kRevisionMax = std::int64_t{1} << 50;

// The texts of one ConfigMap by key.
std::map<std::string, std::string> read_map(Members& members, std::string_view name, const Json& map) {
  std::map<std::string, std::string> data;
  if (!map.is_object()) {
    members.wrong(cat("texts.", name), "expected an object of texts");
    return data;
  }
  for (const auto& [key, text] : map.as_object()) {
    if (!text.is_string()) {
      members.wrong(cat("texts.", name, ".", key), "expected text");
    } else {
      data[key] = text.as_string();
    }
  }
  return data;
}

policy::settings::SettingsTexts read_texts(Members& members, const Json& body, std::string_view config_name) {
  policy::settings::SettingsTexts texts;
  const Json* maps = body.member("texts");
  if (maps == nullptr || !maps->is_object()) {
    members.wrong("texts", "expected an object of ConfigMaps");
    return texts;
  }
  for (const auto& [name, map] : maps->as_object()) {
    if (name == config_name) {
      texts.slo = read_map(members, name, map);
    } else if (name == model::kTidemarkConfigName) {
      for (auto& [key, text] : read_map(members, name, map)) {
        if (key == model::kTidemarkConfigKey) {
          texts.tidemark = std::move(text);
        } else {
          members.wrong(cat("texts.", name, ".", key), cat("expected only the key ", model::kTidemarkConfigKey));
        }
      }
    } else {
      members.wrong(cat("texts.", name), cat("expected ", config_name, " or ", model::kTidemarkConfigName));
    }
  }
  return texts;
}

// Reads the body with `read(members, json)`.
template <std::size_t kCount, class Read>
auto parse_with(std::string_view body, const std::array<std::string_view, kCount>& names, const Read& read)
    -> std::expected<decltype(read(std::declval<Members&>(), std::declval<const Json&>())), WrongBody> {
  const auto json = parse_body(body, names);
  if (!json) return std::unexpected(json.error());
  Members members(*json);
  auto request = read(members, *json);
  if (members.first_wrong()) return std::unexpected(*members.first_wrong());
  return request;
}

TextChange read_text_change(Members& members, const std::string& field, const Json& from) {
  TextChange change;
  const Json* at = from.member("at");
  if (at == nullptr || !at->is_array() || at->as_array().empty() || at->as_array().size() > kTextPlaceMax) {
    members.wrong(field, cat("expected an array of 1 to ", kTextPlaceMax, " keys and indices"));
    return change;
  }
  for (const Json& step : at->as_array()) {
    if (step.is_string()) {
      change.at.emplace_back(step.as_string());
    } else if (step.is_int() && step.as_int() >= 0) {
      change.at.emplace_back(static_cast<std::size_t>(step.as_int()));
    } else {
      members.wrong(field, "expected a key or an index");
    }
  }
  if (const Json* value = from.member("value")) change.value = *value;
  return change;
}

std::vector<TextChange> read_text_changes(Members& members, const Json& body) {
  std::vector<TextChange> out;
  const Json* changes = body.member("changes");
  if (changes == nullptr) return out;
  if (!changes->is_array() || changes->as_array().size() > kTextChangesMax) {
    members.wrong("changes", cat("expected an array of at most ", kTextChangesMax, " changes"));
    return out;
  }
  for (const Json& each : changes->as_array()) {
    out.push_back(read_text_change(members, cat("changes[", out.size(), "].at"), each));
  }
  return out;
}

}  // namespace

std::expected<EditRequest, WrongBody> parse_edit(std::string_view body, std::string_view config_name) {
  static constexpr std::array<std::string_view, 3> kMembers = {"texts", "reason", "dryRun"};
  return parse_with(body, kMembers, [&](Members& members, const Json& json) {
    return EditRequest{read_texts(members, json, config_name), read_reason(members), members.flag("dryRun")};
  });
}

std::expected<TextChangeRequest, WrongBody> parse_text_change(std::string_view body) {
  static constexpr std::array<std::string_view, 2> kMembers = {"text", "changes"};
  return parse_with(body, kMembers, [](Members& members, const Json& json) {
    if (!members.has("text")) members.wrong("text", "expected the text to change; it may be empty");
    return TextChangeRequest{members.text("text"), read_text_changes(members, json)};
  });
}

std::expected<UndoRequest, WrongBody> parse_undo(std::string_view body) {
  static constexpr std::array<std::string_view, 3> kMembers = {"to", "reason", "dryRun"};
  return parse_with(body, kMembers, [](Members& members, const Json&) {
    return UndoRequest{members.number("to", 0, kRevisionMax).value_or(0), read_reason(members), members.flag("dryRun")};
  });
}

std::expected<PauseRequest, WrongBody> parse_pause(std::string_view body) {
  static constexpr std::array<std::string_view, 2> kMembers = {"reason", "lastsSeconds"};
  return parse_with(body, kMembers, [](Members& members, const Json&) {
    const auto lasts = members.seconds("lastsSeconds", std::chrono::seconds(1), kPauseMax);
    return PauseRequest{read_reason(members), lasts.value_or(base::Duration(0))};
  });
}

std::expected<ResumeRequest, WrongBody> parse_resume(std::string_view body, bool of_pool) {
  static constexpr std::array<std::string_view, 2> kMembers = {"reason", "now"};
  return parse_with(body, kMembers, [&](Members& members, const Json&) {
    if (of_pool && members.has("now")) members.wrong("now", "goes only with a rollout");
    return ResumeRequest{read_reason(members), members.flag("now")};
  });
}

std::expected<OverrideRequest, WrongBody> parse_override(std::string_view body) {
  static constexpr std::array<std::string_view, 7> kMembers = {"pool",         "cpuPercent", "memoryPercent", "clear",
                                                               "lastsSeconds", "reason",     "dryRun"};
  return parse_with(body, kMembers, [](Members& members, const Json&) {
    OverrideRequest out;
    out.pool = members.text("pool");
    out.reason = read_reason(members);
    out.dry_run = members.flag("dryRun");
    const auto percent = [&](std::string_view name) {
      return members.number(name, 0, policy::state::kOverridePercentMax);
    };
    const policy::waterline::LinePercent line{percent("cpuPercent"), percent("memoryPercent")};
    const auto lasts =
        members.seconds("lastsSeconds", policy::state::kOverrideLastsMin, policy::state::kOverrideLastsMax);
    if (members.flag("clear")) {
      for (const std::string_view name : {"cpuPercent", "memoryPercent", "lastsSeconds"}) {
        if (members.has(name)) members.wrong(name, "does not go with clear");
      }
      return out;
    }
    if (!line.cpu && !line.memory) members.wrong("cpuPercent", "expected cpuPercent, memoryPercent or both");
    if (!lasts) members.wrong("lastsSeconds", "an override has an end");
    out.line = line;
    out.lasts = lasts.value_or(base::Duration(0));
    return out;
  });
}

}  // namespace tidemark::console
