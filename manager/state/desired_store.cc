#include "manager/state/desired_store.h"

#include <utility>

#include "manager/maps/owned_map.h"
#include "model/names.h"
#include "model/reason.h"

namespace tidemark::manager {
namespace {

net::Task<Result<void>> write(kube::Writer& writer, std::string config_namespace, std::string revision,
                              std::string_view key, std::string text, base::Duration limit) {
  TM_CO_TRY_VOID(co_await write_map(writer,
                                    {std::move(config_namespace),
                                     std::string(model::kStateName),
                                     std::move(revision),
                                     {{std::string(key), std::move(text)}}},
                                    limit,
                                    // Only commands write it.
                                    {model::reason_id(model::Reason::kWriteAsked)}));
  co_return Result<void>();
}

}  // namespace

Result<kube::ConfigMap> decode_state_map(std::string_view bytes, kube::Interner& interner) {
  return kube::decode_config_map(bytes, {}, {model::kStateKey, model::kOverridesKey}, interner);
}

net::Task<Result<StoredText>> read_desired(kube::Reader& reader, std::string config_namespace, base::Duration limit) {
  auto bytes = co_await reader.get(kube::kConfigMaps, config_namespace, model::kStateName, limit);
  if (!bytes && bytes.error().kind == ErrorKind::kNotFound) co_return StoredText();
  if (!bytes) co_return std::unexpected(std::move(bytes).error().within("reading the orders of the cluster"));
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
