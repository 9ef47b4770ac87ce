// One set of settings, read: what controllers go by. Settings come as texts, key by key; a part reads one key.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/reason.h"
#include "model/settings/config_source.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/settings/config/parse.h"
#include "policy/settings/nodeslo/nodeslo.h"
#include "policy/settings/rollout/revision.h"
#include "policy/waterline/calendar/calendar_form.h"

namespace tidemark::manager {

// A member per part; each part holds the last good value of its keys.
struct Revision {
  policy::sell::ConfigState colocation;
  // nullopt: they cannot be used, and there were none before.
  std::optional<policy::sell::NormalizationConfig> normalization;
  std::optional<policy::sell::AmplificationConfig> amplification;
  policy::settings::SloConfig nodeslo;
  policy::waterline::TidemarkConfig tidemark = policy::waterline::drop_in();
  policy::settings::SettingsTexts texts;  // that it was read from
  std::string hash;                       // of the texts: nodes carry it
};

// A key of slo-controller-config that this program reads. Other keys are part of the texts all the same.
struct RevisionPart {
  struct Taken {
    model::Reason reason = model::Reason::kConfigApplied;  // kConfigApplied and kConfigDefaults are good
    std::string problem;                                   // what is wrong with it, and where
  };
  std::string_view key;
  std::string_view bad_json_event;  // the reason of the Warning event, as the peer's
  Taken (*take)(Revision& into, const model::ConfigSource& source);
};
std::span<const RevisionPart> revision_parts();

// What came is in force; "not found" and refusals leave or make something else.
bool is_good(model::Reason reason);

// The rules of the time zones that a tidemark-config names, from the part that may open files.
using ZonesOf = std::function<policy::waterline::Zones(std::string_view tidemark_config)>;

// From texts that were good once; nullopt where they are not any more (a version that knows less, a zone that is gone).
std::optional<Revision> revision_of(const policy::settings::SettingsTexts& texts, const ZonesOf& zones);

}  // namespace tidemark::manager
