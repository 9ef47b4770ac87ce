#include "manager/webhook/admission_handlers.h"

#include <map>
#include <utility>

#include "base/text.h"
#include "kube/builtin_types.h"
#include "kube/strategic_merge_patch.h"
#include "model/names.h"
#include "policy/admission/eviction.h"
#include "policy/admission/pod_json.h"
#include "policy/explain/admission_text.h"
#include "policy/explain/rollout_text.h"
#include "policy/settings/check.h"
#include "policy/settings/config/parse.h"

namespace tidemark::manager {
namespace {

using base::cat;
using model::Reason;

constexpr int kBadRequest = 400;
constexpr int kNotFound = 404;
constexpr int kUnavailable = 503;  // and not 429: for an eviction that is a disruption budget
constexpr int kTooManyRequests = 429, kServerErrors = 500;
constexpr int kLookupsMax = 16;  // PriorityClasses that no cache has, for one pod
constexpr int kPercent = 100;

bool is_of(const AdmissionRequest& request, std::string_view resource, std::string_view subresource = "") {
  return request.group.empty() && request.resource == resource && request.subresource == subresource;
}

std::string reason_word(int code) {
  if (code == 403) return "Forbidden";
  if (code == kNotFound) return "NotFound";
  if (code == 409) return "Conflict";
  if (code == 429) return "TooManyRequests";
  if (code == kUnavailable) return "ServiceUnavailable";
  return code >= 500 ? "InternalError" : "BadRequest";
}

AdmissionAnswer refused(int code, Reason reason, std::string message) {
  AdmissionAnswer answer;
  answer.allowed = false;
  answer.code = code;
  answer.reason = reason_word(code);
  answer.message = std::move(message);
  answer.causes.push_back({std::string(model::reason_id(reason)), "", std::string(model::reason_sentence(reason))});
  return answer;
}

AdmissionAnswer unreadable(Error error) {
  return refused(kBadRequest, Reason::kAdmitPodUnreadable,
                 cat(model::reason_sentence(Reason::kAdmitPodUnreadable), " [",
                     model::reason_id(Reason::kAdmitPodUnreadable), "]: ", error.message));
}

AdmissionAnswer eviction_refused(int code, std::string_view word, std::string message) {
  AdmissionAnswer answer;
  answer.allowed = false;
  answer.code = code;
  answer.reason = reason_word(code);
  answer.message = std::move(message);
  answer.causes.push_back({std::string(word), "", answer.message});
  return answer;
}

// Whether the server was too busy, or did not answer in time.
bool may_answer_later(const Error& error) {
  return error.code == kTooManyRequests || error.code >= kServerErrors || error.kind == ErrorKind::kUnavailable ||
         error.kind == ErrorKind::kDeadline;
}

AdmissionAnswer answer_of(const policy::admission::EvictionRefusal& refusal) {
  return eviction_refused(refusal.http_code, to_string(refusal.why), policy::explain::render_text(refusal));
}

std::map<std::string, std::string> data_of(const Json& object) {
  std::map<std::string, std::string> out;
  const Json* data = object.member("data");
  if (data == nullptr || !data->is_object()) return out;
  for (const auto& [key, value] : data->as_object()) {
    if (value.is_string()) out[key] = value.as_string();
  }
  return out;
}

std::vector<policy::settings::SettingsKey> keys_of(const std::map<std::string, std::string>& data) {
  std::vector<policy::settings::SettingsKey> keys;
  for (const auto& [key, text] : data) keys.push_back({key, text});
  return keys;
}

}  // namespace

Result<void> merge_into_pod(Json& pod, const Json& patch) {
  return kube::apply_strategic_merge_patch(pod, patch, kube::builtin_types().find("Pod"));
}

std::vector<const policy::admission::ColocationProfile*> AdmissionHandlers::profiles() const {
  std::vector<const policy::admission::ColocationProfile*> list;
  context_.caches.profiles.for_each(
      [&](const kube::ObjectKey&, const ProfileObject& object) { list.push_back(&object.profile); });
  return list;
}

net::Task<std::optional<std::vector<model::Label>>> AdmissionHandlers::namespace_labels(std::string name) {
  if (const auto* found = context_.caches.namespaces.find({"", name})) co_return labels_of(found->labels);
  if (!lookups_.try_take(context_.clock.monotonic())) co_return std::nullopt;
  const auto bytes = co_await context_.reader.get(kube::kNamespaces, "", name, kLookupLimit);
  if (!bytes) co_return std::nullopt;
  const auto read = decode_namespace(*bytes, context_.interner);
  if (!read) co_return std::nullopt;
  co_return labels_of(read->labels);
}

net::Task<std::optional<policy::admission::PriorityClassValue>> AdmissionHandlers::priority_class(std::string name) {
  const auto now = context_.clock.monotonic();
  std::erase_if(missing_, [now](const auto& each) { return each.second <= now; });
  if (missing_.contains(name) || !lookups_.try_take(now)) co_return std::nullopt;
  const auto bytes = co_await context_.reader.get(kube::kPriorityClasses, "", name, kLookupLimit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound && missing_.size() < kMissingMax) {
      missing_[name] = context_.clock.monotonic() + kMissingKept;
    }
    co_return std::nullopt;
  }
  const auto read = decode_priority_class(*bytes);
  if (!read) co_return std::nullopt;
  co_return policy::admission::PriorityClassValue{read->value, read->preemption_policy};
}

net::Task<AdmissionAnswer> AdmissionHandlers::mutate_pod(AdmissionRequest request) {
  // An update is nothing to do here; the peer registers for it and does nothing either.
  if (!is_of(request, "pods") || request.operation != AdmissionOperation::kCreate) co_return AdmissionAnswer{};
  if (const auto fine = policy::admission::check_pod(request.object); !fine) co_return unreadable(fine.error());
  const auto labels = co_await namespace_labels(request.ns);
  policy::admission::NamespaceLabels known;
  if (labels) known = std::span<const model::Label>(*labels);

  std::map<std::string, policy::admission::PriorityClassValue, std::less<>> asked;  // beside the cache
  for (int lookups = 0;; ++lookups) {
    const auto list = profiles();  // anew after each wait: what they point to may have changed
    std::vector<int> draws;
    for (std::size_t i = 0; i < list.size(); ++i) draws.push_back(static_cast<int>(random_.below(kPercent)));
    const auto look_up = [&](std::string_view name) -> std::optional<policy::admission::PriorityClassValue> {
      if (const auto* held = context_.caches.priority_classes.find({"", std::string(name)})) {
        return policy::admission::PriorityClassValue{held->value, held->preemption_policy};
      }
      const auto at = asked.find(name);
      return at == asked.end() ? std::nullopt : std::optional(at->second);
    };
    const auto scope = context_.scope_of(request.object);
    const std::string because = policy::explain::render_text(scope);
    auto mutation = policy::admission::mutate_pod(
        settings_.rules, {request.object, known, list, draws, scope.off, look_up, merge_into_pod, because});
    if (mutation) {
      AdmissionAnswer answer;
      answer.patch = std::move(mutation->patch);
      for (const auto& note : mutation->notes) answer.warnings.push_back(policy::explain::render_text(note));
      co_return answer;
    }
    const policy::admission::Refusal& refusal = mutation.error();
    if (refusal.reason == Reason::kAdmitPriorityClassMissing && lookups < kLookupsMax) {
      if (const auto found = co_await priority_class(refusal.detail)) {
        asked[refusal.detail] = *found;
        continue;
      }
    }
    co_return refused(refusal.http_code, refusal.reason, policy::explain::render_text(refusal));
  }
}

net::Task<AdmissionAnswer> AdmissionHandlers::validate_pod(AdmissionRequest request) {
  const bool update = request.operation == AdmissionOperation::kUpdate;
  if (!is_of(request, "pods") || (!update && request.operation != AdmissionOperation::kCreate)) {
    co_return AdmissionAnswer{};
  }
  if (const auto fine = policy::admission::check_pod(request.object); !fine) co_return unreadable(fine.error());
  std::optional<std::vector<model::Label>> labels;
  if (update) {
    if (const auto fine = policy::admission::check_pod(request.old_object); !fine) co_return unreadable(fine.error());
    labels = co_await namespace_labels(request.ns);
  }
  auto list = profiles();
  if (!settings_.reconcile_by_default) {  // no controller applies the other profiles later
    std::erase_if(list, [](const auto* profile) { return !profile->controller_managed; });
  }
  policy::admission::ValidationInput input{.pod = request.object,
                                           .before = update ? &request.old_object : nullptr,
                                           .namespace_name = request.ns,
                                           .namespace_labels = std::nullopt,
                                           .profiles = list,
                                           .merge = merge_into_pod,
                                           .enhanced = context_.enhanced()};
  if (labels) input.namespace_labels = std::span<const model::Label>(*labels);
  const auto violations = policy::admission::validate_pod(settings_.rules, input);
  if (violations.empty()) co_return AdmissionAnswer{};
  AdmissionAnswer answer;
  answer.allowed = false;
  answer.code = kBadRequest;
  answer.reason = reason_word(kBadRequest);
  answer.message = policy::explain::render_text(violations);
  for (const auto& each : violations) {
    answer.causes.push_back(
        {std::string(model::reason_id(each.reason)), each.field, cat("found ", each.found, ", wanted ", each.wanted)});
  }
  co_return answer;
}

net::Task<AdmissionAnswer> AdmissionHandlers::validate_config_map(AdmissionRequest request) {
  if (!is_of(request, "configmaps") || request.ns != settings_.config_namespace) co_return AdmissionAnswer{};
  const bool removed = request.operation == AdmissionOperation::kDelete;
  const std::string name =
      !request.name.empty() ? request.name : std::string(request.object.text_at("metadata", "name"));
  const bool peers = name == settings_.config_name;
  if (!peers && name != model::kTidemarkConfigName) co_return AdmissionAnswer{};
  if (removed) {
    AdmissionAnswer answer;
    answer.warnings.push_back(cat("the settings of ConfigMap ", request.ns, "/", name,
                                  peers ? " stay in force; a manager that starts without them goes by the defaults, "
                                          "unless there is a tidemark-config"
                                        : " stay in force, also after a restart of the manager; `tidemark undo config "
                                          "--to=N` to a revision without them takes them away"));
    co_return answer;
  }
  if (request.operation == AdmissionOperation::kConnect) co_return AdmissionAnswer{};
  co_return peers ? check_settings(request) : check_tidemark_config(request);
}

AdmissionAnswer AdmissionHandlers::busy_eviction() {
  return answer_of({policy::admission::EvictionDenial::kTooMany, kUnavailable, "", cat(kEvictionsPerSecond)});
}

net::Task<AdmissionAnswer> AdmissionHandlers::validate_eviction(AdmissionRequest request) {
  if (settings_.agent_account.empty() || request.user != settings_.agent_account) co_return AdmissionAnswer{};
  if (!is_of(request, "pods", "eviction") || request.operation != AdmissionOperation::kCreate) {
    co_return AdmissionAnswer{};
  }
  const std::string uid(request.object.text_at("deleteOptions", "preconditions", "uid"));
  const policy::admission::EvictionAsked asked{request.user_node, uid};
  if (const auto refusal = policy::admission::refuse_eviction(asked)) co_return answer_of(*refusal);
  if (!evictions_.try_take(context_.clock.monotonic())) {
    co_return busy_eviction();
  }
  const auto bytes = co_await context_.ahead.get(kube::kPods, request.ns, request.name, kLookupLimit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound) {
      co_return eviction_refused(kNotFound, "Gone", cat("looking the pod up: ", bytes.error().message));
    }
    // For example a missing permission: the next request gets no answer either.
    const auto why = may_answer_later(bytes.error()) ? policy::admission::EvictionDenial::kNotKnown
                                                     : policy::admission::EvictionDenial::kUnreadable;
    co_return answer_of({why, kUnavailable, bytes.error().message, ""});
  }
  const auto pod = Json::parse(*bytes);
  if (const auto refusal = policy::admission::refuse_eviction(asked, pod ? *pod : Json()))
    co_return answer_of(*refusal);
  if (!request.dry_run) {
    if (const auto refusal = context_.may_not_go(*bytes)) co_return answer_of(*refusal);
  }
  co_return AdmissionAnswer{};
}

AdmissionAnswer AdmissionHandlers::check_settings(const AdmissionRequest& request) const {
  const auto before = data_of(request.old_object);
  const auto after = data_of(request.object);
  std::vector<std::vector<model::Label>> labels;  // under the nodes below
  std::vector<policy::settings::LabelledNode> nodes;
  if (before != after) {  // else no key is looked at
    labels.reserve(context_.caches.nodes.core().size());
    context_.caches.nodes.for_each([&](const kube::ObjectKey&, const kube::Node& node) {
      labels.push_back(labels_of(node.meta.labels));
      nodes.push_back({node.meta.name, labels.back()});
    });
  }
  const auto before_keys = keys_of(before);
  const auto after_keys = keys_of(after);
  const auto verdict = policy::settings::check_settings(
      {before_keys, after_keys, nodes, settings_.names_needed, settings_.rules.parity});
  AdmissionAnswer answer;
  for (const auto& warning : verdict.warnings) answer.warnings.push_back(policy::explain::render_text(warning));
  if (verdict.allowed()) return answer;
  answer.allowed = false;
  answer.code = kBadRequest;
  answer.reason = policy::settings::peer_reason(verdict.errors.front().reason);
  answer.message = policy::explain::render_refusal(verdict);
  for (const auto& each : verdict.errors) {
    answer.causes.push_back({std::string(model::reason_id(each.reason)),
                             each.place.empty() ? each.key : cat(each.key, ": ", each.place),
                             cat("found ", each.found, "; allowed: ", each.allowed)});
  }
  return answer;
}

std::vector<policy::waterline::PoolOverlap> AdmissionHandlers::pool_overlaps(
    const policy::waterline::TidemarkConfig& config) const {
  std::vector<policy::waterline::NodeLabels> nodes;
  if (config.pools.size() > 1) {
    context_.caches.nodes.for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
      nodes.push_back({model::NodeName(key.name), labels_of(node.meta.labels)});
    });
  }
  return policy::waterline::overlaps(config, nodes);
}

AdmissionAnswer AdmissionHandlers::check_tidemark_config(const AdmissionRequest& request) const {
  AdmissionAnswer answer;
  const auto after = data_of(request.object);
  for (const auto& [key, text] : after) {
    if (key != model::kTidemarkConfigKey) {
      answer.warnings.push_back(
          cat(key, ": this key is not used; the settings are read from ", model::kTidemarkConfigKey));
    }
  }
  const auto text = after.find(std::string(model::kTidemarkConfigKey));
  if (text == after.end() || text->second == data_of(request.old_object)[text->first]) return answer;
  const auto parsed = policy::settings::parse_tidemark_config(text->second, settings_.zones(text->second));
  if (parsed) {
    for (const auto& overlap : pool_overlaps(*parsed)) answer.warnings.push_back(policy::explain::render_text(overlap));
    return answer;
  }
  answer.allowed = false;
  answer.code = kBadRequest;
  answer.reason = policy::settings::peer_reason(Reason::kSettingsInvalid);
  answer.message = cat(answer.reason, ": ", model::kTidemarkConfigKey, ": ");
  for (std::size_t i = 0; i < parsed.error().size(); ++i) {
    const policy::waterline::Problem& problem = parsed.error()[i];
    answer.message += cat(i == 0 ? "" : "; ", problem.place, problem.place.empty() ? "" : ": ", problem.why);
    answer.causes.push_back({std::string(model::reason_id(Reason::kSettingsInvalid)), problem.place, problem.why});
  }
  answer.message += "; the edit is rejected as a whole";
  return answer;
}

}  // namespace tidemark::manager
