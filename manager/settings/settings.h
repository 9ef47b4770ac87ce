// The settings in force: the ConfigMaps that hold them, read (settings_source.h), and how they reach the nodes
// (rollout_controller.h). Controllers ask for a node and read a Revision: what holds for that node now.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "manager/settings/rollout_controller.h"
#include "manager/settings/settings_source.h"
#include "manager/shared.h"
#include "model/names.h"
#include "net/loop.h"

namespace tidemark::manager {

class Settings {
 public:
  Settings(const Shared& shared, const SettingsContext& context, base::Random random);

  // Before start(). Called after what for_node() answers has changed.
  void subscribe(std::function<void(const SettingsChange&)> on_change) { listeners_.push_back(std::move(on_change)); }
  void start();  // until destroyed

  net::Task<bool> wait_read(base::Duration limit);  // true once the ConfigMaps were read, or found to be missing
  std::string not_ready() const;                    // "" when there are settings to go by, else what is missing
  void leadership_changed() { rollout_.look(); }

  // Valid until the loop runs again: ask again after every co_await.
  const Revision& for_node(const model::NodeName& node) const { return rollout_.for_node(node); }
  const Revision& for_node(const kube::Node& node) const { return rollout_.for_node(node); }
  const model::Pool& pool_of(const kube::Node& node) const { return rollout_.pool_of(node); }
  // While an edit is rolled out nodes go by several; those that were there first, first.
  std::vector<const Revision*> in_force() const { return rollout_.in_force(); }
  // For what is of the whole cluster, and so not rolled out node by node.
  const Revision& newest() const { return source_.newest(); }

 private:
  net::Task<void> read_first();

  base::Random random_;
  RolloutController rollout_;
  SettingsSource source_;
  std::vector<std::function<void(const SettingsChange&)>> listeners_;
  net::Event read_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
