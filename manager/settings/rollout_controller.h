// Brings new settings to the nodes as policy/settings/rollout says, and knows what is in force on which node.
//
// Every replica follows the stored state; the leader steps it. What moves nodes is stored before it holds, so that a
// crash at any point leaves what is stored; what holds everywhere at once holds before it is stored, since it needs no
// memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/evictions/eviction_watch.h"
#include "manager/settings/revision.h"
#include "manager/settings/revision_store.h"
#include "manager/shared.h"
#include "model/names.h"
#include "net/loop.h"
#include "policy/settings/rollout/rollout.h"

namespace tidemark::manager {

struct SettingsChange {
  std::optional<model::NodeName> node;  // nullopt: all nodes
};

// What settings and their roll-out are made with. The references outlive them.
struct SettingsContext {
  const kube::Informer<kube::Node>* nodes = nullptr;  // whose labels say the pool; null where there are none
  EvictionWatch* evictions = nullptr;                 // null: not tracked
  std::function<bool()> leading;
  // Whether the node is written. An observed node, or one left to another manager, gets no settings.
  std::function<bool(const kube::Node&)> writes = [](const kube::Node&) { return true; };
  std::string config_namespace;
  std::string config_name;
  base::Duration write_limit = std::chrono::seconds(4);
  ZonesOf zones = [](std::string_view) { return policy::waterline::Zones(); };
};

class RolloutController {
 public:
  // `without_tidemark`: the settings without a tidemark-config were chosen by an order.
  RolloutController(const Shared& shared, const SettingsContext& context, base::Random random,
                    std::function<void(const SettingsChange&)> on_change, std::function<void()> without_tidemark);

  void start();  // until destroyed
  net::Task<bool> wait_synced(base::Duration limit) { return store_.wait_synced(limit); }

  // Once, when the store is synced: takes over what it holds. Answers the last settings that were taken, if there are.
  const Revision* load();
  // What the ConfigMaps say now. It becomes the target, at once or in steps. `newest` is asked again later.
  void source_changed(const Revision& newest, bool usable);
  void look() { wake_.set(); }  // leadership changed

  // Valid until the loop runs again.
  const Revision& for_node(const model::NodeName& node) const;
  const Revision& for_node(const kube::Node& node) const;
  // All that are in force on some node, or are about to be: those that were there first, first.
  std::vector<const Revision*> in_force() const;
  // The pool a node is in, by the settings in force on it.
  const model::Pool& pool_of(const kube::Node& node) const;

 private:
  using Revisions = std::map<std::string, std::shared_ptr<const Revision>, std::less<>>;

  const Revision& revision(std::string_view hash) const;
  const policy::waterline::TidemarkConfig& governing() const;
  bool canary(const kube::Node& node) const;
  bool build(const policy::settings::RolloutState& state, const policy::settings::RevisionBook& book);

  void store_changed();
  void adopt(policy::settings::RolloutState state, policy::settings::RevisionBook book);
  std::vector<std::pair<model::NodeName, std::string>> running() const;

  net::Task<void> run();
  net::Task<void> tick();
  bool held_by_newer();
  bool source_only_stops() const;
  bool watches_evictions() const;
  policy::settings::RolloutObservation observe(std::vector<policy::settings::RolloutNode>& nodes);
  net::Task<void> keep();  // the store says what is in force
  void tell(const policy::settings::RolloutPlan& plan, const policy::settings::RolloutState& state,
            const policy::settings::RevisionBook& book);
  void show();
  void show_overlaps();

  Shared shared_;
  SettingsContext context_;
  base::Log log_;
  base::Random random_;
  std::function<void(const SettingsChange&)> on_change_;
  std::function<void()> without_tidemark_;
  RevisionStore store_;

  bool loaded_ = false;
  policy::settings::RolloutState state_;  // no layers: nothing was taken yet
  policy::settings::RevisionBook book_;
  std::optional<policy::settings::RolloutState> last_stored_;
  Revisions revisions_;  // of the layers
  std::shared_ptr<const Revision> source_ = std::make_shared<Revision>();
  bool source_usable_ = false;
  std::optional<model::Reason> standing_;
  std::string overlaps_told_;
  std::string newer_told_;
  std::shared_ptr<const Revision> overlaps_of_;
  base::MonotonicTime overlaps_looked_;

  net::Event wake_;
  base::Gauge& number_;
  base::Gauge& nodes_;
  base::Gauge& behind_;
  base::Gauge& unconfirmed_;
  base::Gauge& held_;
  base::Gauge& overlapping_;
  base::Counter& store_errors_;
  base::Counter& decisions_;
  std::map<std::string, base::Gauge*> pool_nodes_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
