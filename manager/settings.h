// The settings in force. Owns the ConfigMap of the co-location settings and keeps, key by key, the last good value: a
// text that cannot be used changes nothing, is logged, shows in a metric, and raises a Warning event on the ConfigMap.
//
// Controllers ask for a node and read a Revision: what holds for that node now.
#pragma once

#include <functional>
#include <map>
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
#include "model/names.h"
#include "model/reason.h"
#include "net/loop.h"
#include "policy/config_source.h"
#include "policy/nodeslo/nodeslo.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::manager {

// One set of settings. A member per part; each part holds the last good value of its keys.
struct Revision {
  policy::ConfigState colocation;
  policy::SloConfig nodeslo;
  // Over the texts in force, key by key: the same text gives the same hash in every replica and version. 16 hex digits.
  std::string hash;
};

struct SettingsChange {
  std::optional<model::NodeName> node;  // nullopt: all nodes
};

class Settings {
 public:
  Settings(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher, kube::EventRecorder& recorder,
           kube::Interner& interner, const base::Log& log, base::Registry& metrics, base::Random random,
           std::string config_namespace, std::string config_name);

  // Before start(). Called after what for_node() answers has changed.
  void subscribe(std::function<void(const SettingsChange&)> on_change) { listeners_.push_back(std::move(on_change)); }
  void start();  // until destroyed

  net::Task<bool> wait_read(base::Duration limit);  // true once the ConfigMap was read, or found to be missing
  std::string not_ready() const;                    // "" when there are settings to go by, else what is missing

  // Valid until the loop runs again: ask again after every co_await.
  const Revision& for_node(const model::NodeName& node) const;

 private:
  // What is known of one key of the ConfigMap.
  struct Key {
    bool read = false;
    bool found = false;                   // the ConfigMap existed
    std::optional<std::string> text;      // as it was read last
    std::optional<std::string> in_force;  // the last good text; nullopt: the key was missing, defaults hold
    bool good = false;                    // what is in force is what is in the ConfigMap
  };
  struct Taken {
    model::Reason reason;
    std::string problem;
  };
  using Step = std::function<Taken(const policy::ConfigSource&)>;

  net::Task<void> read_first();
  void take(const kube::ConfigMap* map);
  bool take_key(std::string_view name, const kube::ConfigMap* map, std::string_view bad_json_event, const Step& step);

  std::string config_namespace_;
  std::string config_name_;
  kube::EventRecorder& recorder_;
  base::Log log_;
  kube::Informer<kube::ConfigMap> configs_;
  base::Gauge& good_;
  Revision revision_;
  std::map<std::string_view, Key> keys_;  // the names are constants
  std::vector<std::function<void(const SettingsChange&)>> listeners_;
  net::Event read_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
