#include "manager/state/desired_store.h"

#include <utility>

#include "base/json.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

std::string body_of(std::string_view config_namespace, std::string_view revision, std::string_view key,
                    std::string_view text) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().member("apiVersion", "v1").member("kind", "ConfigMap");
  json.key("metadata").begin_object();
  json.member("name", model::kStateName).member("namespace", config_namespace);
  if (!revision.empty()) json.member("resourceVersion", revision);
  json.end_object();
  json.key("data").begin_object().member(key, text).end_object();
  json.end_object();
  return body;
}

net::Task<Result<void>> write(kube::Writer& writer, std::string config_namespace, std::string revision,
                              std::string_view key, std::string text, base::Duration limit) {
  kube::WriteOptions options;
  options.ns = config_namespace;
  const bool exists = !revision.empty();
  std::string body = body_of(config_namespace, revision, key, text);
  auto written = exists ? co_await writer.patch(kube::kConfigMaps, model::kStateName, kube::PatchType::kMerge,
                                                std::move(body), options, limit)
                        : co_await writer.create(kube::kConfigMaps, std::move(body), options, "", limit);
  if (!written) co_return std::unexpected(std::move(written).error());
  co_return Result<void>();
}

}  // namespace

Result<kube::ConfigMap> decode_state_map(std::string_view bytes, kube::Interner& interner) {
  return kube::decode_config_map(bytes, {}, {model::kStateKey, model::kOverridesKey}, interner);
}

net::Task<Result<StoredText>> read_desired(kube::Reader& reader, std::string config_namespace, base::Duration limit) {
  auto bytes = co_await reader.get(kube::kConfigMaps, config_namespace, model::kStateName, limit);
  if (!bytes && bytes.error().kind == ErrorKind::kNotFound) co_return StoredText();
  if (!bytes) co_return std::unexpected(std::move(bytes).error().within("reading what was ordered for the cluster"));
  kube::Interner interner;
  TM_CO_TRY(const auto map, decode_state_map(*bytes, interner));
  StoredText stored{map.meta.resource_version, std::nullopt, std::nullopt};
  if (const auto* text = map.data.find(model::kStateKey)) stored.text = text->view();
  if (const auto* text = map.data.find(model::kOverridesKey)) stored.overrides = text->view();
  co_return stored;
}

net::Task<Result<void>> write_desired(kube::Writer& writer, std::string config_namespace, std::string revision,
                                      std::string text, base::Duration limit) {
  return write(writer, std::move(config_namespace), std::move(revision), model::kStateKey, std::move(text), limit);
}

net::Task<Result<void>> write_overrides(kube::Writer& writer, std::string config_namespace, std::string revision,
                                        std::string text, base::Duration limit) {
  return write(writer, std::move(config_namespace), std::move(revision), model::kOverridesKey, std::move(text), limit);
}

}  // namespace tidemark::manager
