#include <array>

#include "manager/webhook/webhooks.h"

namespace tidemark::manager {
namespace {

struct Gate {
  std::string_view name;
  bool WebhookGates::* target;
  bool inverted;  // the peer's gate switches something off
};
constexpr std::array<Gate, 9> kGates{{
    {"WebhookFramework", &WebhookGates::served, false},
    {"PodMutatingWebhook", &WebhookGates::pods_mutated, false},
    {"PodValidatingWebhook", &WebhookGates::pods_validated, false},
    {"ConfigMapValidatingWebhook", &WebhookGates::settings_validated, false},
    {"ColocationProfileController", &WebhookGates::catch_up, false},
    {"ColocationProfileSkipMutatingResources", &WebhookGates::translate_resources, true},
    {"ColocationProfileSkipValidatingPriority", &WebhookGates::priority_immutable, true},
    {"EnablePodEnhancedValidator", &WebhookGates::enhanced_validation, false},
    {"DisableExtendedResourceSpec", &WebhookGates::extended_resource_spec, true},
}};

}  // namespace

WebhookGates webhook_gates(const FeatureGates& features) {
  WebhookGates out;
  for (const Gate& gate : kGates) out.*gate.target = features.enabled(gate.name) != gate.inverted;
  return out;
}

void declare_webhook_flags(base::Flags& flags, WebhookOptions& options) {
  using std::chrono::hours;
  using std::chrono::seconds;
  flags.group("Webhooks");
  flags.choice("webhooks", options.mode,
               {{"auto", WebhookMode::kAuto}, {"on", WebhookMode::kOn}, {"off", WebhookMode::kOff}},
               "serve the webhooks for pods and settings; auto: in a pod of the cluster");
  flags.text("webhook-addr", options.listen, "address of the webhooks; port 0 picks one").placeholder("HOST:PORT");
  flags
      .text("webhook-host", options.host,
            "the API server asks at https://HOST and the port listened on, and not by service: outside the cluster")
      .placeholder("HOST");
  flags
      .text("webhook-service-namespace", options.service_namespace,
            "namespace of the Service and of the Secret; else that of the settings")
      .placeholder("NAMESPACE");
  flags.text("webhook-service-name", options.service_name, "Service by which the API server asks").placeholder("NAME");
  flags.text("webhook-secret-name", options.secret_name, "Secret of the certificates that are made here")
      .placeholder("NAME");
  flags
      .text("webhook-cert-dir", options.folder,
            "directory with tls.crt, tls.key and ca.crt (the CA bundle for the API server); disables generated "
            "certificates")
      .placeholder("DIR");
  flags.duration("webhook-ca-lifetime", options.authority_lifetime, seconds(10), hours(24 * 36500),
                 "life of an authority made here; another one is made at two thirds of it");
  flags.duration("webhook-cert-lifetime", options.serving_lifetime, seconds(5), hours(24 * 36500),
                 "life of a certificate made here; another one is made at two thirds of it");
  flags.text("webhook-mutating-configuration", options.mutating_name, "MutatingWebhookConfiguration to keep")
      .placeholder("NAME");
  flags.text("webhook-validating-configuration", options.validating_name, "ValidatingWebhookConfiguration to keep")
      .placeholder("NAME");
  flags
      .text("webhook-evictions-configuration", options.evictions_name,
            "ValidatingWebhookConfiguration for evictions by node agents; kept up to date if it exists")
      .placeholder("NAME");
  flags
      .text("agent-service-account", options.agent_account,
            "user of the node agents, which may evict only offline work of their own node; empty: no agents")
      .placeholder("USER");
  flags.boolean("webhook-register", options.registers, "make and keep the first two objects, and keep the third");
  flags.choice(
      "webhook-profile", options.parity,
      {{"koordinator", policy::admission::Parity::kKoordinator}, {"tidemark", policy::admission::Parity::kTidemark}},
      "profile for cases in which Koordinator's behavior is a trap");
  flags.choice(
      "webhook-while-off", options.while_off,
      {{"wait", policy::admission::WhileOff::kWait},
       {"plain", policy::admission::WhileOff::kPlain},
       {"refuse", policy::admission::WhileOff::kRefuse}},
      "while co-location is off, pods that a profile makes offline work wait, run as plain ones, or are refused");
  // A word and no switch with the peer, which may stand alone on the command line.
  flags.choice("node-strategy-name-need-check", options.names_needed, {{"true", true}, {"false", false}},
               "refuse edits of the settings with node strategies that have no unique name");
  flags
      .text("pod-enhanced-validator-config-namespace", options.enhanced_namespace,
            "namespace of the ConfigMap of labels that pods must carry")
      .placeholder("NAMESPACE");
  flags
      .text("pod-enhanced-validator-config-name", options.enhanced_name,
            "name of that ConfigMap; read with the gate EnablePodEnhancedValidator")
      .placeholder("NAME");

  flags.group("Catching up with pods that missed the webhook");
  flags.boolean("colocation-profile-reconcile-by-default", options.reconcile_by_default,
                "for all profiles, and not only those labelled config.koordinator.sh/controller-managed=true");
  flags.duration("colocation-profile-reconcile-interval", options.reconcile_interval, seconds(1), hours(24),
                 "pause between two looks at all pods that wait");
  flags.number("colocation-profile-update-pod-qps", options.pod_updates_per_second, 0.1, 10000,
               "pods changed in a second");
  flags.integer("colocation-profile-update-pod-qps-burst", options.pod_update_burst, 1, 100000,
                "pods changed at once, before the rate holds");
}

}  // namespace tidemark::manager
