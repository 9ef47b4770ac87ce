// What the webhooks keep of the objects that they look up.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "model/selector.h"
#include "policy/admission/profile.h"

namespace tidemark::manager {

struct WebhookMeta {
  kube::Text ns;
  kube::Text name;
  std::string resource_version;

  std::size_t bytes() const { return ns.bytes() + name.bytes() + resource_version.capacity(); }
};

struct ProfileObject {
  WebhookMeta meta;
  policy::admission::ColocationProfile profile;
  std::size_t bytes() const;
};
Result<ProfileObject> decode_profile(std::string_view bytes);

// All labels: selectors and exemptions ask for any.
struct NamespaceObject {
  WebhookMeta meta;
  kube::TextMap labels;
  std::size_t bytes() const;
};
Result<NamespaceObject> decode_namespace(std::string_view bytes, kube::Interner& interner);

struct PriorityClassObject {
  WebhookMeta meta;
  std::int32_t value = 0;
  std::string preemption_policy;
  std::size_t bytes() const;
};
Result<PriorityClassObject> decode_priority_class(std::string_view bytes);

// A pod that waits for a node: what tells whether a profile was missed.
struct PendingPod {
  WebhookMeta meta;
  kube::Text uid;
  std::optional<base::WallTime> created;
  kube::TextMap labels;
  kube::Text mark;  // annotation tidemark.io/profiles
  std::size_t bytes() const;
};
Result<PendingPod> decode_pending_pod(std::string_view bytes, kube::Interner& interner);

struct SecretObject {
  WebhookMeta meta;
  std::map<std::string, std::string> data;  // decoded; never logged
  std::map<std::string, std::string> annotations;
  std::size_t bytes() const;
};
Result<SecretObject> decode_secret(std::string_view bytes);

struct WebhookConfigurationObject {
  WebhookMeta meta;
  Json webhooks;
  bool managed = false;       // by us, as its annotation says
  bool has_template = false;  // the peer keeps there what it restores
  std::size_t bytes() const;
};
Result<WebhookConfigurationObject> decode_webhook_configuration(std::string_view bytes);

// On the webhook configurations: Tidemark manages them.
inline constexpr std::string_view kWebhooksManagedAnnotation = "tidemark.io/managed-webhooks";
inline constexpr std::string_view kWebhooksTemplateAnnotation = "template";  // Koordinator's

std::vector<model::Label> labels_of(const kube::TextMap& labels);

}  // namespace tidemark::manager
