// Orders for the cluster and pools, and overrides of the water line, from the ConfigMap `tidemark-state`. The last
// good text applies; if the ConfigMap is gone, the copies on the nodes apply.
#pragma once

#include <functional>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/shared.h"
#include "manager/state/node_permit.h"
#include "manager/state/override_watch.h"
#include "net/loop.h"
#include "policy/state/desired.h"

namespace tidemark::manager {

class StateSource {
 public:
  StateSource(const Shared& shared, const kube::Informer<kube::Node>& nodes, base::Random random, const std::string& ns,
              std::function<bool()> leading, std::function<void()> on_change);

  void start();  // until destroyed
  // The nodes must be there: their copies count where the ConfigMap is not.
  net::Task<void> wait_taken();
  bool taken() const { return taken_; }

  // Until the loop runs again.
  NodePermitInputs inputs() const;
  const policy::state::Overrides* overrides() const { return overrides_.overrides(); }  // likewise
  void refresh_metrics() { overrides_.refresh_metrics(); }

 private:
  void take(const kube::ConfigMap* map);
  void take_overrides(const kube::ConfigMap* map);
  void recover_from_nodes();

  std::string ns_;
  kube::EventRecorder& recorder_;
  const kube::Informer<kube::Node>& nodes_;
  base::Log log_;
  kube::Informer<kube::ConfigMap> maps_;
  base::Gauge& good_;
  std::function<void()> on_change_;
  policy::state::DesiredState state_;
  model::Reason told_ = model::Reason::kStateDesiredNone;
  bool taken_ = false;
  OverrideWatch overrides_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
