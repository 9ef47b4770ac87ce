// The webhooks as one piece: caches, handlers, server, certificates, registration, and the reconciler that catches up.
// Serving works on every replica; what is written (the Secret, the registration, pods) is the leader's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/work_queue.h"
#include "manager/evictions/eviction_limits.h"
#include "manager/settings/revision.h"
#include "manager/switches.h"
#include "net/loop.h"
#include "policy/admission/mutate.h"

namespace tidemark::manager {

enum class WebhookMode : std::uint8_t {
  kAuto,  // on in a pod of the cluster, as Koordinator's manager has them; off elsewhere
  kOn,
  kOff,
};

// What of the feature gates is about webhooks.
struct WebhookGates {
  bool served = true;
  bool pods_mutated = true;
  bool pods_validated = true;
  bool settings_validated = true;
  bool catch_up = true;
  bool translate_resources = true;
  bool priority_immutable = true;
  bool enhanced_validation = false;
  bool extended_resource_spec = true;
};
WebhookGates webhook_gates(const FeatureGates& features);

// One field for each flag.
struct WebhookOptions {
  WebhookMode mode = WebhookMode::kAuto;
  std::string listen = "0.0.0.0:9876";
  std::string host;               // given: asked at https://HOST:PORT and not by service
  std::string service_namespace;  // "": the settings' namespace
  std::string service_name = "koordinator-webhook-service";
  std::string secret_name = "koordinator-webhook-certs";
  std::string folder;
  base::Duration authority_lifetime = std::chrono::hours(24 * 3650);
  base::Duration serving_lifetime = std::chrono::hours(24 * 365);
  std::string mutating_name = "koordinator-mutating-webhook-configuration";
  std::string validating_name = "koordinator-validating-webhook-configuration";
  std::string evictions_name = "tidemark-agent-evictions";
  std::string agent_account = "system:serviceaccount:koordinator-system:tidemark-agent";  // "": there are no agents
  bool registers = true;
  policy::admission::Parity parity = policy::admission::Parity::kKoordinator;
  policy::admission::WhileOff while_off = policy::admission::WhileOff::kWait;
  bool names_needed = false;
  WebhookGates gates;                 // of --feature-gates; declared there
  bool reconcile_by_default = false;  // as the peer's
  base::Duration reconcile_interval = std::chrono::seconds(30);
  double pod_updates_per_second = 10;
  std::int64_t pod_update_burst = 100;
  std::string enhanced_namespace = "koordinator-system";
  std::string enhanced_name = "pod-enhanced-validator-config";
};

void declare_webhook_flags(base::Flags& flags, WebhookOptions& options);

struct WebhookContext {
  std::string config_namespace;
  std::string config_name;
  ZonesOf zones;
  const kube::Informer<kube::Node>& nodes;
  std::function<bool()> leading;
  MayNotGo may_not_go;
};

class Webhooks {
 public:
  // Listens at once, so that an address that is taken is known at the start.
  static Result<std::unique_ptr<Webhooks>> make(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                                base::Registry& metrics, base::Random random, WebhookOptions options,
                                                WebhookContext context);
  virtual ~Webhooks() = default;

  virtual void start() = 0;  // until destroyed
  virtual void leadership_changed() = 0;
  virtual std::string not_ready() const = 0;         // "" when requests are answered as they should be
  virtual std::string address() const = 0;           // with the port chosen
  virtual const kube::WorkQueue* queue() const = 0;  // of pods that wait for a profile; null where that is off
  virtual net::Task<void> drain() = 0;
};

}  // namespace tidemark::manager
