#include "operate/in_force.h"

#include <utility>

#include "policy/settings/rollout/stored.h"

namespace tidemark::operate {

InForce::InForce(const manager::SettingsMaps& maps, manager::ZonesOf zones) : maps_(maps), zones_(std::move(zones)) {
  if (!maps.revisions) return;
  const auto stored = policy::settings::decode_stored(manager::data_of(*maps.revisions));
  by_node_ = stored.state && stored.state->layers.size() > 1;
  if (!by_node_) return;
  if (const auto* target = policy::settings::find_revision(stored.book, stored.state->target()))
    target_ = target->texts;
}

Result<const manager::EffectiveSettings*> InForce::on(const kube::Node& node) {
  if (!known_ || by_node_) {
    TM_TRY(known_, manager::effective_settings(maps_, node, zones_));
  }
  return &*known_;
}

}  // namespace tidemark::operate
