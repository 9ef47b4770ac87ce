// Walks one object of the settings along its table. Internal to the checks.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "policy/settings/fields.h"
#include "policy/settings/report.h"

namespace tidemark::policy::settings {

// Go's decoder matches field names in any case. The last match counts; null counts as absent.
const Json* settings_member(const Json& object, std::string_view name);

// `also` are members that the caller reads itself. A value of a wrong type is kSettingsUnreadable, since the whole text
// cannot be decoded then.
void walk_settings(const Json& object, const SettingsShape& shape, const std::string& place,
                   std::span<const std::string_view> also, SettingsReport& report);

// A value for a message: as written, cut if it is long.
std::string settings_shown(const Json& value);

// "a.b", or "b" at the top.
std::string settings_place(const std::string& place, std::string_view member);

}  // namespace tidemark::policy::settings
