// The stored revisions of the settings beside what the two ConfigMaps hold now, and what differs between two of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/client.h"
#include "net/task.h"
#include "operate/settings_change.h"
#include "policy/settings/rollout/revision.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::operate {

struct RevisionsNow {
  bool is_stored = false;  // a manager has stored its settings
  policy::settings::Stored stored;
  policy::settings::SettingsTexts texts;  // that the ConfigMaps hold
  std::string hash;                       // of these texts
};
net::Task<Result<RevisionsNow>> read_revisions_now(kube::Client& client, SettingsOptions options);

// By ConfigMap, then by key.
std::vector<SettingsTextChange> changes_between(const policy::settings::SettingsTexts& before,
                                                const policy::settings::SettingsTexts& after,
                                                std::string_view config_name);

}  // namespace tidemark::operate
