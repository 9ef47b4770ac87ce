// The settings in force on one node, computed from the ConfigMaps without a manager. For `explain` and other readers
// outside the manager.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "kube/objects.h"
#include "manager/settings/revision.h"
#include "policy/explain/grounds_text.h"

namespace tidemark::manager {

struct SettingsMaps {
  std::optional<kube::ConfigMap> slo;
  std::optional<kube::ConfigMap> tidemark;
  std::optional<kube::ConfigMap> revisions;
};

struct EffectiveSettings {
  Revision revision;
  std::string pool;                        // the node is in
  policy::explain::SettingsGround ground;  // why this revision, on this node
  std::string notes;  // what a reader should know: a roll-out under way, a text that is refused; one a line
};
Result<EffectiveSettings> effective_settings(const SettingsMaps& maps, const kube::Node& node, const ZonesOf& zones);

// Of stored revisions, as decode_stored() takes it.
std::map<std::string, std::string, std::less<>> data_of(const kube::ConfigMap& map);

}  // namespace tidemark::manager
