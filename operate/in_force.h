// The settings in force on each of many nodes, read once where they are the same on all: of most clusters one set of
// settings is in force on every node; while a roll-out is under way each is asked for.
#pragma once

#include <optional>

#include "base/result.h"
#include "kube/objects.h"
#include "manager/settings/effective.h"
#include "policy/settings/rollout/revision.h"

namespace tidemark::operate {

class InForce {
 public:
  // `maps` outlive it, and stay as they are.
  InForce(const manager::SettingsMaps& maps, manager::ZonesOf zones);

  // Until it is asked again. What it says of the pool is of some node: where it is not by_node(), perhaps of another.
  Result<const manager::EffectiveSettings*> on(const kube::Node& node);
  bool by_node() const { return by_node_; }
  // Of the settings that every node is to have once a roll-out is over; nullopt: those in force on any node.
  const std::optional<policy::settings::SettingsTexts>& target() const { return target_; }

 private:
  const manager::SettingsMaps& maps_;
  manager::ZonesOf zones_;
  bool by_node_ = false;
  std::optional<policy::settings::SettingsTexts> target_;
  std::optional<manager::EffectiveSettings> known_;
};

}  // namespace tidemark::operate
