// The answers about revisions of the settings and about the calendar of a pool as JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "console/view.h"
#include "operate/revisions.h"

namespace tidemark::console {

// Revisions, the rollout, and for each revision its nodes: those that are to run it, and those that confirmed it.
// `pool`: only its nodes are counted; "" counts all.
std::string settings_document(const operate::RevisionsNow& now, View& view, std::string_view pool);

// [{"configMap":…,"key":…,"diff":…}, …]
Json changes_json(const std::vector<operate::SettingsTextChange>& changes);

// `from`, `to`: the number of a revision, or "now" for what the ConfigMaps hold. kNotFound: it is not kept.
Result<std::string> settings_diff_document(const operate::RevisionsNow& now, std::string_view from, std::string_view to,
                                           std::string_view config_name);

// The week that `at` lies in, from Monday on in the zone of the pool's calendar: the line, its spans, holidays.
// kNotFound: there is no such pool.
Result<std::string> calendar_document(const Settings& settings, std::string_view pool, base::WallTime at,
                                      base::WallTime now);

}  // namespace tidemark::console
