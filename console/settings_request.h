// Bodies of the writes around the settings: an edit, undo, pause and resume of a rollout, an override of the water
// line, and resume of a pool that evictions stopped.
//
//   {"texts":{"tidemark-config":{"config.yaml":"schema: 1\n…"}}, "reason":"more at night", "dryRun":true}
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "console/body.h"
#include "console/text_change.h"
#include "policy/settings/rollout/revision.h"
#include "policy/waterline/calendar/calendar.h"

namespace tidemark::console {

struct EditRequest {
  policy::settings::SettingsTexts texts;  // both ConfigMaps as they are to be; one that is absent has no data
  std::string reason;
  bool dry_run = false;
};
std::expected<EditRequest, WrongBody> parse_edit(std::string_view body, std::string_view config_name);

// {"text":"calendars:\n…","changes":[{"at":["calendars",0,"entries",1],"value":{…}}]}; without `value` it is removed.
struct TextChangeRequest {
  std::string text;
  std::vector<TextChange> changes;  // none: only what the text means is asked for
};
std::expected<TextChangeRequest, WrongBody> parse_text_change(std::string_view body);

struct UndoRequest {
  std::int64_t to = 0;  // number of a revision; 0: as undo_config() chooses
  std::string reason;
  bool dry_run = false;
};
std::expected<UndoRequest, WrongBody> parse_undo(std::string_view body);

struct PauseRequest {
  std::string reason;
  base::Duration lasts{0};  // zero: until it is resumed
};
std::expected<PauseRequest, WrongBody> parse_pause(std::string_view body);

struct ResumeRequest {
  std::string reason;
  bool now = false;  // of a rollout: all remaining nodes at once
};
// `of_pool`: without `now`.
std::expected<ResumeRequest, WrongBody> parse_resume(std::string_view body, bool of_pool);

struct OverrideRequest {
  std::string pool;                                    // "": the cluster
  std::optional<policy::waterline::LinePercent> line;  // nullopt: end the override
  base::Duration lasts{0};
  std::string reason;
  bool dry_run = false;
};
std::expected<OverrideRequest, WrongBody> parse_override(std::string_view body);

}  // namespace tidemark::console
