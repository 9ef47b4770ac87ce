// What the two ConfigMaps of the settings say: slo-controller-config, key by key, and tidemark-config. A text that
// cannot be used changes nothing; it is logged, shows in a metric, and raises a Warning event on its ConfigMap.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/settings/revision.h"
#include "manager/shared.h"
#include "net/loop.h"

namespace tidemark::manager {

struct SettingsSourceOptions {
  std::string config_namespace;
  std::string config_name;
  ZonesOf zones;
};

class SettingsSource {
 public:
  // `on_change` is called after newest() has changed, once take() was called for the first time.
  SettingsSource(const Shared& shared, SettingsSourceOptions options, base::Random random,
                 std::function<void()> on_change);

  void start();  // until destroyed
  net::Task<bool> wait_synced(base::Duration limit);

  // Before take(): what was in force when the process before this one ended. It is the last good text of every key.
  void seed(const Revision& last_good);
  // Reads what is there; from then on changes are followed.
  void take();

  // An order chose settings without a tidemark-config, and the ConfigMap is gone: then the last one is not kept.
  void let_go_of_tidemark();

  // The last good text of every key, read.
  const Revision& newest() const { return newest_; }
  // False while a part has never been good: there is nothing to go by.
  bool usable() const { return newest_.colocation.config.has_value() && tidemark_.config.has_value(); }

 private:
  // What is known of one key.
  struct Key {
    bool read = false;
    bool found = false;               // the ConfigMap existed
    std::optional<std::string> text;  // as it was read last
    bool good = true;                 // what is in force is what is in the ConfigMap
  };

  void take_slo(const kube::ConfigMap* map);
  void take_tidemark(const kube::ConfigMap* map);
  void refused(const kube::ConfigMap* map, std::string_view key, model::Reason reason, const std::string& problem,
               std::string_view event);
  void changed();

  SettingsSourceOptions options_;
  kube::EventRecorder& recorder_;
  base::Log log_;
  kube::Informer<kube::ConfigMap> slo_maps_;
  kube::Informer<kube::ConfigMap> tidemark_maps_;
  base::Gauge& good_;
  std::function<void()> on_change_;
  bool taking_ = false;
  Revision newest_;
  policy::settings::TidemarkState tidemark_;
  std::map<std::string, Key, std::less<>> keys_;
  std::optional<std::map<std::string, std::string>> tidemark_data_;  // as it was read last; nullopt: there was no map
  bool tidemark_read_ = false;
  bool tidemark_good_ = true;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
