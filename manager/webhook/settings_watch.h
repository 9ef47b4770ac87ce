// Settings that the webhooks need: whether offline work is accepted, and the labels that pods must carry. The API
// server sends an edit to the webhook only if the ConfigMap has the selected label. A ConfigMap without it is reported:
// by an event on it, a metric and a log line.
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
#include "manager/settings/revision.h"
#include "manager/shared.h"
#include "net/loop.h"
#include "policy/admission/validate_pod.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/settings/config/parse.h"
#include "policy/state/pod_scope.h"

namespace tidemark::manager {

struct SettingsWatchOptions {
  std::string config_namespace;
  std::string config_name;
  bool warn_of_label = true;
  ZonesOf zones;
  // ConfigMap of the labels that pods must carry; "" where that is off.
  std::string enhanced_namespace;
  std::string enhanced_name;
};

class SettingsWatch {
 public:
  SettingsWatch(const Shared& shared, base::Random random, SettingsWatchOptions options);

  void start();  // until destroyed

  bool synced() const;
  // By the last good settings, and by what was ordered for the cluster and for pools.
  policy::state::PodScopeState scope_of(const Json& pod) const;
  const policy::admission::EnhancedValidation* enhanced() const {
    return enhanced_config_.enable ? &enhanced_config_ : nullptr;
  }

 private:
  void take_settings(const kube::ConfigMap* map);
  void take_tidemark(const kube::ConfigMap* map);
  void take_orders(const kube::ConfigMap* map);
  void take_enhanced(const kube::ConfigMap* map);
  void watch_label(std::string_view name, const kube::ConfigMap* map);

  SettingsWatchOptions options_;
  net::EventLoop& loop_;
  kube::EventRecorder& recorder_;
  base::Log log_;
  base::Registry& metrics_;
  kube::Informer<kube::ConfigMap> settings_;
  kube::Informer<kube::ConfigMap> ours_;
  std::unique_ptr<kube::Informer<kube::ConfigMap>> enhanced_;
  kube::Informer<kube::ConfigMap> orders_;
  policy::sell::ConfigState state_;
  policy::settings::TidemarkState tidemark_;
  policy::state::DesiredState desired_;
  policy::admission::EnhancedValidation enhanced_config_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
