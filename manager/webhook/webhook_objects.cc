#include "manager/webhook/webhook_objects.h"

#include <limits>
#include <utility>

#include "base/text.h"
#include "kube/decode.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

Result<Json> object_of(std::string_view bytes, WebhookMeta& meta) {
  TM_TRY(Json object, Json::parse(bytes));
  meta.ns = kube::Text::plain(object.text_at("metadata", "namespace"));
  meta.name = kube::Text::plain(object.text_at("metadata", "name"));
  meta.resource_version = object.text_at("metadata", "resourceVersion");
  if (meta.name.empty()) return fail(ErrorKind::kInvalid, "metadata.name: wanted a string");
  return object;
}

WebhookMeta meta_of(kube::ObjectMeta& meta) {
  return {std::move(meta.ns), std::move(meta.name), std::move(meta.resource_version)};
}

// Only of the metadata: a pod is passed over but for that.
Result<kube::ObjectMeta> metadata_of(std::string_view bytes, std::string_view kind, const kube::MetaFields& fields,
                                     kube::Interner& interner) {
  kube::ObjectMeta meta;
  kube::Decoder decoder(bytes, interner);
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      kube::read_meta(decoder, fields, meta);
    } else {
      decoder.skip();
    }
  });
  TM_TRY_VOID(decoder.finish(kind));
  if (meta.name.empty()) return fail(ErrorKind::kInvalid, kind, ": metadata.name: wanted a string");
  return meta;
}

std::map<std::string, std::string> texts_of(const Json* map) {
  std::map<std::string, std::string> out;
  if (map == nullptr || !map->is_object()) return out;
  for (const auto& [key, value] : map->as_object()) {
    if (value.is_string()) out[key] = value.as_string();
  }
  return out;
}

std::size_t cost(const std::map<std::string, std::string>& map) {
  constexpr std::size_t kNode = 96;  // of a tree, with two strings
  std::size_t bytes = 0;
  for (const auto& [key, value] : map) bytes += kNode + key.capacity() + value.capacity();
  return bytes;
}

}  // namespace

std::size_t ProfileObject::bytes() const {
  return sizeof *this + meta.bytes() + profile.bytes();
}
std::size_t NamespaceObject::bytes() const {
  return sizeof *this + meta.bytes() + labels.bytes();
}
std::size_t PriorityClassObject::bytes() const {
  return sizeof *this + meta.bytes() + preemption_policy.capacity();
}
std::size_t PendingPod::bytes() const {
  return sizeof *this + meta.bytes() + uid.bytes() + labels.bytes() + mark.bytes();
}
std::size_t SecretObject::bytes() const {
  return sizeof *this + meta.bytes() + cost(data) + cost(annotations);
}
std::size_t WebhookConfigurationObject::bytes() const {
  return sizeof *this + meta.bytes() + 4 * webhooks.dump().size();
}

Result<ProfileObject> decode_profile(std::string_view bytes) {
  ProfileObject out;
  TM_TRY(const Json object, object_of(bytes, out.meta));
  TM_TRY(out.profile, policy::admission::read_profile(object));
  return out;
}

Result<NamespaceObject> decode_namespace(std::string_view bytes, kube::Interner& interner) {
  kube::MetaFields fields;
  fields.labels = kube::KeyFilter::all();
  TM_TRY(auto meta, metadata_of(bytes, "Namespace", fields, interner));
  NamespaceObject out;
  out.labels = std::move(meta.labels);
  out.meta = meta_of(meta);
  return out;
}

Result<PriorityClassObject> decode_priority_class(std::string_view bytes) {
  PriorityClassObject out;
  TM_TRY(const Json object, object_of(bytes, out.meta));
  const Json* value = object.member("value");
  const auto number = value == nullptr ? std::optional<std::int64_t>(0) : value->get_int();
  if (!number || *number < std::numeric_limits<std::int32_t>::min() ||
      *number > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorKind::kInvalid, "PriorityClass ", out.meta.name.view(), ": value: wanted a number of 32 bits");
  }
  out.value = static_cast<std::int32_t>(*number);
  out.preemption_policy = object.text_at("preemptionPolicy");
  return out;
}

Result<PendingPod> decode_pending_pod(std::string_view bytes, kube::Interner& interner) {
  kube::MetaFields fields;
  fields.labels = kube::KeyFilter::all();
  fields.annotations = {model::kProfilesAnnotation};
  TM_TRY(auto meta, metadata_of(bytes, "Pod", fields, interner));
  PendingPod out;
  out.uid = std::move(meta.uid);
  out.created = meta.created;
  out.labels = std::move(meta.labels);
  if (const auto* mark = meta.annotations.find(model::kProfilesAnnotation)) out.mark = *mark;
  out.meta = meta_of(meta);
  return out;
}

Result<SecretObject> decode_secret(std::string_view bytes) {
  SecretObject out;
  TM_TRY(const Json object, object_of(bytes, out.meta));
  out.annotations = texts_of(object.at("metadata", "annotations"));
  for (auto& [key, value] : texts_of(object.member("data"))) {
    auto decoded = base::base64_decode(value);
    if (!decoded) return fail(ErrorKind::kInvalid, "Secret ", out.meta.name.view(), ": data.", key, " is not base64");
    out.data[key] = std::move(*decoded);
  }
  return out;
}

Result<WebhookConfigurationObject> decode_webhook_configuration(std::string_view bytes) {
  WebhookConfigurationObject out;
  TM_TRY(const Json object, object_of(bytes, out.meta));
  const Json* webhooks = object.member("webhooks");
  out.webhooks = webhooks != nullptr && webhooks->is_array() ? *webhooks : Json::array();
  out.managed = object.at("metadata", "annotations", kWebhooksManagedAnnotation) != nullptr;
  out.has_template = object.at("metadata", "annotations", kWebhooksTemplateAnnotation) != nullptr;
  return out;
}

std::vector<model::Label> labels_of(const kube::TextMap& labels) {
  std::vector<model::Label> out;
  out.reserve(labels.size());
  for (const auto& label : labels) out.push_back({std::string(label.key), std::string(label.value)});
  return out;
}

}  // namespace tidemark::manager
