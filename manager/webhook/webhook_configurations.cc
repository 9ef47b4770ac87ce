#include "manager/webhook/webhook_configurations.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "manager/webhook/webhook_server.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using base::cat;

constexpr std::int64_t kTimeoutSeconds = 5;  // a pod's creation waits no longer for us
constexpr base::Duration kWriteLimit = std::chrono::seconds(10);
constexpr base::Duration kRetry = std::chrono::seconds(2);
constexpr base::Duration kLookAgain = std::chrono::minutes(1);
constexpr base::Duration kSoon = std::chrono::seconds(30);  // a change so soon after our write undoes it
constexpr int kRepairsMax = 5;                              // in a row, then we rest
constexpr base::Duration kRest = std::chrono::minutes(2);
// Removing a release deletes the object for evictions first, and the manager a moment later: the deletion stays.
constexpr base::Duration kGoneFor = std::chrono::minutes(1);

Json texts(std::initializer_list<std::string_view> list) {
  Json::Array out;
  for (const auto each : list) out.emplace_back(each);
  return out;
}

Json selector(std::string_view key, std::string_view op, std::initializer_list<std::string_view> values) {
  Json expression = Json::object({{"key", Json(key)}, {"operator", Json(op)}});
  if (values.size() > 0) expression["values"] = texts(values);
  return expression;
}

// Namespaces of the control plane are never asked about: nothing that a cluster needs to come up waits for us.
Json namespaces() {
  return Json::object(
      {{"matchExpressions", Json::array({selector("control-plane", "DoesNotExist", {}),
                                         selector("kubernetes.io/metadata.name", "NotIn", {"kube-system"})})}});
}

struct Hook {
  std::string_view name;
  std::string_view path;
  std::string_view resource;
  Json operations;
  Json namespace_selector;
  Json object_selector;
};
constexpr std::string_view kEvictionHook = "agent-eviction.tidemark.io";

Json hook_of(const ConfigurationOptions& options, const std::optional<std::string>& bundle, Hook hook) {
  Json client = Json::object();
  if (options.url.empty()) {
    client["service"] = Json::object({{"namespace", Json(options.service_namespace)},
                                      {"name", Json(options.service_name)},
                                      {"path", Json(hook.path)},
                                      {"port", Json(options.service_port)}});
  } else {
    client["url"] = Json(cat(options.url, hook.path));
  }
  if (bundle) client["caBundle"] = Json(base::base64_encode(*bundle));
  Json rule = Json::object({{"apiGroups", texts({""})},
                            {"apiVersions", texts({"v1"})},
                            {"operations", std::move(hook.operations)},
                            {"resources", texts({hook.resource})},
                            {"scope", "*"}});
  return Json::object({{"name", Json(hook.name)},
                       {"clientConfig", std::move(client)},
                       {"rules", Json::array({std::move(rule)})},
                       {"failurePolicy", "Ignore"},
                       {"matchPolicy", "Equivalent"},
                       {"namespaceSelector", std::move(hook.namespace_selector)},
                       {"objectSelector", std::move(hook.object_selector)},
                       {"sideEffects", "None"},
                       {"timeoutSeconds", kTimeoutSeconds},
                       {"admissionReviewVersions", texts({"v1"})}});
}

}  // namespace

Json mutating_webhooks(const ConfigurationOptions& options, const std::optional<std::string>& bundle) {
  Json::Array list;
  if (options.pods_mutated) {
    list.push_back(hook_of(
        options, bundle,
        {"mpod-create.koordinator.sh", kMutatePodPath, "pods", texts({"CREATE"}), namespaces(), Json::object()}));
    list.back()["reinvocationPolicy"] = "Never";
  }
  return list;
}

Json validating_webhooks(const ConfigurationOptions& options, const std::optional<std::string>& bundle) {
  Json::Array list;
  if (options.pods_validated) {
    list.push_back(hook_of(
        options, bundle,
        {"vpod.koordinator.sh", kValidatePodPath, "pods", texts({"CREATE", "UPDATE"}), namespaces(), Json::object()}));
  }
  if (options.settings_validated) {
    Json objects = Json::object(
        {{"matchExpressions",
          Json::array({selector(model::kConfigMapTypeLabel, "In", {"slo-controller-config", "tidemark-config"})})}});
    list.push_back(hook_of(options, bundle,
                           {"vconfigmap.koordinator.sh", kValidateConfigMapPath, "configmaps",
                            texts({"CREATE", "UPDATE", "DELETE"}), Json::object(), std::move(objects)}));
  }
  return list;
}

// In every namespace: an agent has no business with the control plane's pods either.
Json eviction_webhooks(const ConfigurationOptions& options, const std::optional<std::string>& bundle) {
  Json hook = hook_of(
      options, bundle,
      {kEvictionHook, kValidateEvictionPath, "pods/eviction", texts({"CREATE"}), Json::object(), Json::object()});
  hook["failurePolicy"] = "Fail";
  // A text of CEL is one of JSON.
  hook["matchConditions"] = Json::array(
      {Json::object({{"name", "agent"},
                     {"expression", Json(cat("request.userInfo.username == ", Json(options.agent_account).dump()))}})});
  return Json::array({std::move(hook)});
}

Json with_bundles_of(Json wanted, const Json& there) {
  if (!there.is_array()) return wanted;
  for (Json& hook : wanted.as_array()) {
    if (hook.at("clientConfig", "caBundle") != nullptr) continue;
    for (const Json& held : there.as_array()) {
      const Json* bundle = held.at("clientConfig", "caBundle");
      if (bundle == nullptr || held.text_at("name") != hook.text_at("name")) continue;
      hook["clientConfig"]["caBundle"] = *bundle;
      break;
    }
  }
  return wanted;
}

RepairBrake::Answer RepairBrake::ask(base::MonotonicTime now) {
  if (!written_) return Answer::kGo;
  const base::Duration since = now - *written_;
  if (repairs_ >= kRepairsMax) {
    if (since < kRest) return Answer::kWait;
    if (since < 2 * kRest) return Answer::kGoAndTell;  // undone again while we rested
    repairs_ = 0;
  } else {
    repairs_ = since < kSoon ? repairs_ + 1 : 0;
    if (repairs_ >= kRepairsMax) return Answer::kGoAndTell;
  }
  return Answer::kGo;
}

bool covers(const Json& there, const Json& wanted) {
  if (wanted.is_object()) {
    if (!there.is_object()) return wanted.as_object().empty() && there.is_null();
    return std::all_of(wanted.as_object().begin(), wanted.as_object().end(), [&](const auto& member) {
      const Json* held = there.member(member.first);
      return covers(held == nullptr ? Json() : *held, member.second);
    });
  }
  if (wanted.is_array()) {
    if (!there.is_array() || there.as_array().size() != wanted.as_array().size()) return false;
    for (std::size_t i = 0; i < wanted.as_array().size(); ++i) {
      if (!covers(there.as_array()[i], wanted.as_array()[i])) return false;
    }
    return true;
  }
  return there == wanted;
}

WebhookConfigurations::WebhookConfigurations(const Shared& shared, base::Random random, ConfigurationOptions options,
                                             Context context)
    : shared_(shared),
      log_(shared.log),
      options_(std::move(options)),
      context_(std::move(context)),
      mutating_(make_side(kube::kMutatingWebhooks, options_.mutating_name, options_.pods_mutated, random.fork(), {})),
      validating_(make_side(kube::kValidatingWebhooks, options_.validating_name,
                            options_.pods_validated || options_.settings_validated, random.fork(), {})),
      kept_{&mutating_, &validating_},
      writes_(shared.metrics.counter("tidemark_webhook_configuration_writes_total",
                                     "Writes of the objects that tell the API server about the webhooks.")),
      registered_gauge_(shared.metrics.gauge("tidemark_webhook_registered",
                                             "1 while the webhooks are registered at the API server.")),
      evictions_gauge_(shared.metrics.gauge("tidemark_webhook_evictions_registered",
                                            "1 while the webhook for evictions by node agents is registered.")),
      changed_(shared.loop),
      scope_(shared.loop) {
  if (!options_.agent_account.empty()) {
    kube::InformerConfig config;
    config.name = "webhook-evictions";
    config.may_be_absent = true;  // a role that knows of no agents does not show it
    evictions_.emplace(
        make_side(kube::kValidatingWebhooks, options_.evictions_name, false, random.fork(), std::move(config)));
    evictions_->fails_closed = true;
    kept_.push_back(&*evictions_);
  }
  for (Side* side : kept_) {
    side->objects->subscribe(
        [this](const kube::ObjectKey&, const WebhookConfigurationObject*, const WebhookConfigurationObject*) {
          changed_.set();
          context_.on_change();
        });
  }
}

WebhookConfigurations::Side WebhookConfigurations::make_side(const kube::Resource& resource, const std::string& name,
                                                             bool needed, base::Random random,
                                                             kube::InformerConfig config) {
  config.resource = resource;
  config.field_selector = cat("metadata.name=", name);
  return {resource, name,
          std::make_unique<kube::Informer<WebhookConfigurationObject>>(
              kube::InformerParts{shared_.loop, shared_.reader, shared_.watcher, log_, shared_.metrics, random},
              std::move(config), decode_webhook_configuration),
          needed};
}

void WebhookConfigurations::start() {
  for (Side* side : kept_) scope_.spawn(side->objects->run());
  scope_.spawn(keep());
}

bool WebhookConfigurations::trusted(std::string_view pem) const {
  const std::string_view wanted = base::trim(pem);
  for (const Side* side : kept_) {
    if (side->given_up) continue;
    const auto* object = side->objects->find({"", side->name});
    if (object == nullptr) {
      if (side->needed) return false;
      continue;  // a kind that is switched off has no object and needs no trust
    }
    for (const Json& hook : object->webhooks.as_array()) {
      const auto bundle = base::base64_decode(hook.text_at("clientConfig", "caBundle"));
      if (!bundle || bundle->find(wanted) == std::string::npos) return false;
    }
  }
  return !wanted.empty();
}

net::Task<void> WebhookConfigurations::keep() {
  for (Side* side : kept_) {
    while (!co_await side->objects->wait_synced(std::chrono::minutes(1))) {
      log_.warn("waiting for the API server", {{"missing", side->resource.plural}});
    }
  }
  while (true) {
    changed_.clear();
    bool again_soon = false;
    if (context_.ready()) {
      const auto bundle = context_.bundle();
      const Kept mutating = co_await keep_side(mutating_, mutating_webhooks(options_, bundle));
      const Kept validating = co_await keep_side(validating_, validating_webhooks(options_, bundle));
      registered_gauge_.set(mutating == Kept::kRight && validating == Kept::kRight ? 1 : 0);
      again_soon = mutating == Kept::kNotYet || validating == Kept::kNotYet;
      if (evictions_) {
        const Kept evictions = co_await keep_side(*evictions_, eviction_webhooks(options_, bundle));
        evictions_gauge_.set(evictions == Kept::kRight ? 1 : 0);
        again_soon |= evictions == Kept::kNotYet;
      }
    }
    co_await changed_.wait_for(again_soon ? kRetry : kLookAgain);
  }
}

net::Task<WebhookConfigurations::Kept> WebhookConfigurations::keep_side(Side& side, Json wanted) {
  const auto* there = side.objects->find({"", side.name});
  if (there != nullptr) wanted = with_bundles_of(std::move(wanted), there->webhooks);
  if (side.fails_closed && others_make(side, there != nullptr)) co_return Kept::kNotHere;
  // A kind of webhook that is switched off needs no object; one that is there is emptied.
  if (there == nullptr && wanted.as_array().empty()) co_return Kept::kRight;
  if (there != nullptr && there->managed && covers(there->webhooks, wanted)) {
    side.given_up = false;
    co_return Kept::kRight;
  }
  if (!context_.leading()) co_return Kept::kNotYet;
  if (side.last == wanted) {
    const auto answer = side.brake.ask(shared_.loop.clock().monotonic());
    if (answer == RepairBrake::Answer::kWait) co_return Kept::kNotYet;
    if (answer == RepairBrake::Answer::kGoAndTell) {
      log_.error("another writer keeps changing the webhooks' registration: two managers on one cluster?",
                 {{"object", side.name}, {"next_repair_s", kRest.count() / 1'000'000'000}});
    }
  }
  const bool first = there == nullptr;
  auto written = co_await write(side, there, wanted);
  if (!written) {
    const Error& error = written.error();
    if (side.fails_closed && (error.kind == ErrorKind::kDenied || error.kind == ErrorKind::kUnsupported)) {
      co_return give_up(side, error.message);
    }
    if (error.kind != ErrorKind::kConflict && error.kind != ErrorKind::kAlreadyExists) {
      log_.error("cannot register the webhooks; retrying", {{"object", side.name}, {"error", error}});
    }
    co_return Kept::kNotYet;
  }
  side.brake.wrote(shared_.loop.clock().monotonic());
  side.last = std::move(wanted);
  side.given_up = false;
  writes_.add();
  log_.info(first ? "webhooks registered" : "the webhooks' registration was put right", {{"object", side.name}});
  co_return Kept::kRight;
}

bool WebhookConfigurations::others_make(Side& side, bool there) const {
  if (there) {
    side.seen = true;
    side.gone_since.reset();
    return false;
  }
  if (!side.seen) return true;
  const auto now = shared_.loop.clock().monotonic();
  if (!side.gone_since) side.gone_since = now;
  return now - *side.gone_since < kGoneFor;
}

WebhookConfigurations::Kept WebhookConfigurations::give_up(Side& side, std::string_view why) {
  if (!side.given_up) {
    log_.warn("cannot update the webhook for evictions by node agents", {{"object", side.name}, {"why", why}});
    side.given_up = true;
    context_.on_change();
  }
  return Kept::kNotHere;
}

net::Task<Result<void>> WebhookConfigurations::write(Side& side, const WebhookConfigurationObject* there,
                                                     const Json& wanted) {
  // `there` may be another one, or none, after the first wait: the body is made before it.
  const bool create = there == nullptr;
  const bool holds = !create && !there->webhooks.as_array().empty();
  Json object = Json::object({{"webhooks", wanted}});
  Json metadata = Json::object();
  metadata["annotations"] = Json::object({{kWebhooksManagedAnnotation, "true"}});
  if (create) {
    object["apiVersion"] = Json(cat(side.resource.group, "/", side.resource.version));
    object["kind"] = Json(side.resource.kind);
    metadata["name"] = Json(side.name);
    metadata["labels"] = Json::object({{"app.kubernetes.io/managed-by", "tidemark"}});
  } else {
    if (!there->managed && !there->has_template && holds) {
      metadata["annotations"][kWebhooksTemplateAnnotation] = Json(there->webhooks.dump());
      log_.warn("replacing webhooks of another owner; they are saved in an annotation",
                {{"object", side.name}, {"annotation", kWebhooksTemplateAnnotation}});
    }
    metadata["resourceVersion"] = Json(there->meta.resource_version);
  }
  object["metadata"] = std::move(metadata);
  if (side.fails_closed) {
    TM_CO_TRY(const Json would_be, co_await send(side, create, object.dump(), true));
    if (!covers(would_be, wanted)) {
      // Without its condition it would refuse the requests of all users: then it has no webhook.
      if (holds) {
        object["webhooks"] = Json::array();
        TM_CO_TRY_VOID(co_await send(side, create, object.dump(), false));
      }
      co_return fail(ErrorKind::kUnsupported,
                     "the API server would not keep all of it; matchConditions want Kubernetes 1.28");
    }
  }
  TM_CO_TRY_VOID(co_await send(side, create, object.dump(), false));
  co_return Result<void>();
}

net::Task<Result<Json>> WebhookConfigurations::send(const Side& side, bool create, std::string body, bool dry_run) {
  kube::WriteOptions how;
  how.dry_run = dry_run;
  Result<std::string> written;
  if (create) {
    written = co_await shared_.writer.create(side.resource, std::move(body), std::move(how), "", kWriteLimit);
  } else {
    written = co_await shared_.writer.patch(side.resource, side.name, kube::PatchType::kMerge, std::move(body),
                                            std::move(how), kWriteLimit);
  }
  if (!written) co_return std::unexpected(std::move(written).error());
  auto object = decode_webhook_configuration(*written);
  if (!object) co_return std::unexpected(std::move(object).error());
  co_return std::move(object->webhooks);
}

}  // namespace tidemark::manager
