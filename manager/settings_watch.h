// What the webhooks themselves need of the settings' ConfigMaps: whether co-location is on, labels that pods must
// carry, and the trap that an edit is checked only where the ConfigMap carries the label which the API server selects
// by. A ConfigMap without it is told of: an event on it, a metric, a line in the log.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "net/loop.h"
#include "policy/admission/validate_pod.h"
#include "policy/overcommit/strategy.h"

namespace tidemark::manager {

struct SettingsWatchOptions {
  std::string config_namespace;
  std::string config_name;
  bool warn_of_label = true;
  // ConfigMap of the labels that pods must carry; "" where that is off.
  std::string enhanced_namespace;
  std::string enhanced_name;
};

class SettingsWatch {
 public:
  SettingsWatch(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher, kube::EventRecorder& recorder,
                kube::Interner& interner, const base::Log& log, base::Registry& metrics, base::Random random,
                SettingsWatchOptions options);

  void start();  // until destroyed

  bool synced() const;
  // The last good settings of the cluster say so. Unknown counts as on: nobody is refused for what is not known.
  bool off() const { return state_.config && !state_.config->cluster.enable; }
  const policy::EnhancedValidation* enhanced() const { return enhanced_config_.enable ? &enhanced_config_ : nullptr; }

 private:
  void take_settings(const kube::ConfigMap* map);
  void take_enhanced(const kube::ConfigMap* map);
  void watch_label(std::string_view name, const kube::ConfigMap* map);

  SettingsWatchOptions options_;
  kube::EventRecorder& recorder_;
  base::Log log_;
  base::Registry& metrics_;
  kube::Informer<kube::ConfigMap> settings_;
  kube::Informer<kube::ConfigMap> ours_;
  std::unique_ptr<kube::Informer<kube::ConfigMap>> enhanced_;
  policy::ConfigState state_;
  policy::EnhancedValidation enhanced_config_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
