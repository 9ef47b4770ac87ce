#include "manager/webhook/webhooks.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/recorder.h"
#include "manager/shared.h"
#include "manager/webhook/admission_handlers.h"
#include "manager/webhook/profile_controller.h"
#include "manager/webhook/settings_watch.h"
#include "manager/webhook/webhook_certificates.h"
#include "manager/webhook/webhook_configurations.h"
#include "manager/webhook/webhook_objects.h"
#include "manager/webhook/webhook_server.h"
#include "net/address.h"

namespace tidemark::manager {
namespace {

using base::cat;

constexpr base::Duration kDrainLimit = std::chrono::seconds(5);
// The API server may still send requests through the Service for a moment after the replica began to stop.
constexpr base::Duration kGoodbye = std::chrono::seconds(5);
constexpr std::string_view kComponent = "tidemark-webhooks";

kube::InformerConfig informer(const kube::Resource& resource) {
  kube::InformerConfig config;
  config.resource = resource;
  return config;
}

// Who installed no profiles has none: settings are checked all the same.
kube::InformerConfig profile_informer() {
  kube::InformerConfig config = informer(kube::kColocationProfiles);
  config.may_be_absent = true;
  return config;
}

CertificateOptions certificate_options(const WebhookOptions& options) {
  CertificateOptions out;
  out.secret_namespace = options.service_namespace;
  out.secret_name = options.secret_name;
  out.folder = options.folder;
  out.authority_lifetime = options.authority_lifetime;
  out.serving_lifetime = std::min(options.serving_lifetime, options.authority_lifetime);
  const std::string service = cat(options.service_name, ".", options.service_namespace);
  out.dns_names = {service + ".svc", service, service + ".svc.cluster.local"};
  if (const auto ip = net::ip_address(options.host, 0)) {
    // As a certificate's are read: fd00::1 for FD00:0::1.
    const std::string text = ip->text();
    const std::string_view host = std::string_view(text).substr(0, text.rfind(':'));
    out.ip_addresses.emplace_back(host.starts_with('[') ? host.substr(1, host.size() - 2) : host);
  } else if (!options.host.empty()) {
    out.dns_names.push_back(options.host);
  }
  return out;
}

ConfigurationOptions configuration_options(const WebhookOptions& options) {
  ConfigurationOptions out;
  out.mutating_name = options.mutating_name;
  out.validating_name = options.validating_name;
  out.service_namespace = options.service_namespace;
  out.service_name = options.service_name;
  out.pods_mutated = options.gates.pods_mutated;
  out.pods_validated = options.gates.pods_validated;
  out.settings_validated = options.gates.settings_validated;
  out.evictions_name = options.evictions_name;
  out.agent_account = options.agent_account;
  return out;
}

SettingsWatchOptions watch_options(const WebhookOptions& options, const WebhookContext& context) {
  SettingsWatchOptions out;
  out.config_namespace = context.config_namespace;
  out.config_name = context.config_name;
  out.warn_of_label = options.gates.settings_validated;
  out.zones = context.zones;
  if (options.gates.enhanced_validation) {
    out.enhanced_namespace = options.enhanced_namespace;
    out.enhanced_name = options.enhanced_name;
  }
  return out;
}

AdmissionSettings admission_settings(const WebhookOptions& options, const WebhookContext& context) {
  AdmissionSettings out;
  out.rules.parity = options.parity;
  out.rules.translate_resources = options.gates.translate_resources;
  out.rules.extended_resource_spec = options.gates.extended_resource_spec;
  out.rules.priority_immutable = options.gates.priority_immutable;
  out.rules.while_off = options.while_off;
  out.config_namespace = context.config_namespace;
  out.config_name = context.config_name;
  out.names_needed = options.names_needed;
  out.reconcile_by_default = options.reconcile_by_default;
  out.zones = context.zones;
  out.agent_account = options.agent_account;
  return out;
}

class RunningWebhooks final : public Webhooks {
 public:
  RunningWebhooks(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics,
                  base::Random random, WebhookOptions options, WebhookContext context)
      : loop_(loop),
        log_(log.named("webhooks")),
        options_(std::move(options)),
        context_(std::move(context)),
        interner_(metrics, "webhooks"),
        recorder_(loop, client, log_, metrics, std::string(kComponent)),
        shared_{loop, client, client, client, recorder_, interner_, log_, metrics},
        profiles_({loop, client, client, log_, metrics, random.fork()}, profile_informer(), decode_profile),
        namespaces_({loop, client, client, log_, metrics, random.fork()}, informer(kube::kNamespaces),
                    [this](std::string_view bytes) { return decode_namespace(bytes, interner_); }),
        priority_classes_({loop, client, client, log_, metrics, random.fork()}, informer(kube::kPriorityClasses),
                          decode_priority_class),
        settings_(shared_, random.fork(), watch_options(options_, context_)),
        handlers_({.reader = client,
                   .ahead = client.ahead(),
                   .interner = interner_,
                   .clock = loop.clock(),
                   .caches = {profiles_, namespaces_, priority_classes_, context_.nodes},
                   .scope_of = [this](const Json& pod) { return settings_.scope_of(pod); },
                   .enhanced = [this] { return settings_.enhanced(); },
                   .may_not_go = context_.may_not_go},
                  admission_settings(options_, context_), random.fork()),
        configurations_(shared_, random.fork(), configuration_options(options_),
                        {.leading = context_.leading,
                         .ready = [this] { return certificates_.ready() && not_answering().empty(); },
                         .bundle = [this] { return certificates_.bundle(); },
                         .on_change = [this] { certificates_.look(); }}),
        certificates_(
            shared_, random.fork(), certificate_options(options_),
            {.leading = context_.leading,
             // If another program registers the webhooks, it decides about trust.
             .trusted = [this](std::string_view pem) { return !options_.registers || configurations_.trusted(pem); },
             .use = [this](const net::IssuedCertificate& certificate) { use(certificate); },
             .on_bundle = [this] { configurations_.look(); }}),
        scope_(loop) {
    if (options_.gates.catch_up) {
      ProfileControllerOptions reconciler;
      reconciler.parity = options_.parity;
      reconciler.while_off = options_.while_off;
      reconciler.by_default = options_.reconcile_by_default;
      reconciler.interval = options_.reconcile_interval;
      reconciler.updates_per_second = options_.pod_updates_per_second;
      reconciler.update_burst = options_.pod_update_burst;
      reconciler_ = std::make_unique<ProfileController>(
          shared_,
          ProfileContext{.profiles = profiles_,
                         .namespaces = namespaces_,
                         .scope_of = [this](const Json& pod) { return settings_.scope_of(pod); },
                         .leading = context_.leading},
          random.fork(), reconciler);
    }
  }

  Result<void> listen() {
    WebhookServerConfig config;
    config.listen = options_.listen;
    TM_TRY(config.tls, certificates_.first());
    TM_TRY(server_, WebhookServer::listen(loop_, log_, shared_.metrics, std::move(config), handlers_,
                                          [this] { return not_answering(); }));
    if (!options_.host.empty()) {
      const bool v6 = options_.host.find(':') != std::string::npos && !options_.host.starts_with('[');
      configurations_.set_url(
          cat("https://", v6 ? "[" : "", options_.host, v6 ? "]" : "", ":", std::int64_t{server_->port()}));
    }
    return {};
  }

  void start() override {
    scope_.spawn(recorder_.run());
    scope_.spawn(profiles_.run());
    scope_.spawn(namespaces_.run());
    scope_.spawn(priority_classes_.run());
    settings_.start();
    certificates_.start();
    if (options_.registers) {
      configurations_.start();
      scope_.spawn(register_when_ready());
    }
    if (reconciler_) reconciler_->start();
  }

  void leadership_changed() override {
    certificates_.look();
    configurations_.look();
    if (reconciler_) reconciler_->look_all();
  }

  std::string not_ready() const override {
    if (auto missing = not_answering(); !missing.empty()) return missing;
    if (!certificates_.ready()) return "the webhooks have no certificate yet";
    return "";
  }

  std::string address() const override { return server_->address(); }
  const kube::WorkQueue* queue() const override { return reconciler_ ? &reconciler_->queue() : nullptr; }

  net::Task<void> drain() override {
    if (options_.host.empty()) co_await loop_.sleep(kGoodbye);
    co_await server_->drain(kDrainLimit);
  }

 private:
  // What an answer needs; a certificate is another matter.
  std::string not_answering() const {
    if (!profiles_.synced()) return "clustercolocationprofiles are not listed yet";
    if (!namespaces_.synced()) return "namespaces are not listed yet";
    if (!priority_classes_.synced()) return "priorityclasses are not listed yet";
    if (!context_.nodes.synced()) return "nodes are not listed yet";
    if (!settings_.synced()) return "the settings are not read yet";
    return "";
  }

  void use(const net::IssuedCertificate& certificate) {
    if (auto used = server_->use_certificate(certificate.certificate_pem, certificate.key_pem); !used) {
      log_.error("cannot use a certificate of the webhooks; the old one stays", {{"error", used.error()}});
    }
  }

  // The caches fill without telling the registration.
  net::Task<void> register_when_ready() {
    while (!not_ready().empty()) co_await loop_.sleep(std::chrono::milliseconds(100));
    configurations_.look();
  }

  net::EventLoop& loop_;
  base::Log log_;
  WebhookOptions options_;
  WebhookContext context_;
  kube::Interner interner_;
  kube::EventRecorder recorder_;
  Shared shared_;
  kube::Informer<ProfileObject> profiles_;
  kube::Informer<NamespaceObject> namespaces_;
  kube::Informer<PriorityClassObject> priority_classes_;
  SettingsWatch settings_;
  AdmissionHandlers handlers_;
  WebhookConfigurations configurations_;
  std::unique_ptr<WebhookServer> server_;
  WebhookCertificates certificates_;  // after the server, which it gives certificates to
  std::unique_ptr<ProfileController> reconciler_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace

Result<std::unique_ptr<Webhooks>> Webhooks::make(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                                 base::Registry& metrics, base::Random random, WebhookOptions options,
                                                 WebhookContext context) {
  if (options.service_namespace.empty()) options.service_namespace = context.config_namespace;
  auto webhooks =
      std::make_unique<RunningWebhooks>(loop, client, log, metrics, random, std::move(options), std::move(context));
  TM_TRY_VOID(webhooks->listen());
  return webhooks;
}

}  // namespace tidemark::manager
