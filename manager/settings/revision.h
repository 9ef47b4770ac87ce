// One set of settings, read: what controllers go by. Settings come as texts, key by key; a part reads one key.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/reason.h"
#include "policy/calendar/calendar_form.h"
#include "policy/config_source.h"
#include "policy/nodeslo/nodeslo.h"
#include "policy/overcommit/strategy.h"
#include "policy/pools/parse.h"
#include "policy/rollout/revision.h"

namespace tidemark::manager {

// A member per part; each part holds the last good value of its keys.
struct Revision {
  policy::ConfigState colocation;
  // nullopt: they cannot be used, and there were none before.
  std::optional<policy::NormalizationConfig> normalization;
  std::optional<policy::AmplificationConfig> amplification;
  policy::SloConfig nodeslo;
  policy::TidemarkConfig tidemark = policy::drop_in();
  policy::SettingsTexts texts;  // that it was read from
  std::string hash;             // of the texts: nodes carry it
};

// A key of slo-controller-config that this program reads. Other keys are part of the texts all the same.
struct RevisionPart {
  struct Taken {
    model::Reason reason = model::Reason::kConfigApplied;  // kConfigApplied and kConfigDefaults are good
    std::string problem;                                   // what is wrong with it, and where
  };
  std::string_view key;
  std::string_view bad_json_event;  // the reason of the Warning event, as the peer's
  Taken (*take)(Revision& into, const policy::ConfigSource& source);
};
std::span<const RevisionPart> revision_parts();

// What came is in force; "not found" and refusals leave or make something else.
bool is_good(model::Reason reason);

// The rules of the time zones that a tidemark-config names, from the part that may open files.
using ZonesOf = std::function<policy::Zones(std::string_view tidemark_config)>;

// From texts that were good once; nullopt where they are not any more (a version that knows less, a zone that is gone).
std::optional<Revision> revision_of(const policy::SettingsTexts& texts, const ZonesOf& zones);

}  // namespace tidemark::manager
