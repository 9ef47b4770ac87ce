#include "manager/maps/owned_map.h"

#include "base/json.h"
#include "base/text.h"

namespace tidemark::manager {
namespace {

kube::InformerConfig only(std::string_view cache, const std::string& ns, std::string_view name) {
  kube::InformerConfig config;
  config.resource = kube::kConfigMaps;
  config.name = cache;
  config.ns = ns;
  config.field_selector = base::cat("metadata.name=", name);
  return config;
}

// Whether `a` is an older revision than `b` of the same object: they are numbers that count up, where they are numbers.
bool older(std::string_view a, std::string_view b) {
  const auto first = base::parse_uint(a);
  const auto second = base::parse_uint(b);
  return first && second && *first < *second;
}

OwnedMap::Decode decoder(kube::Interner& interner, kube::KeyFilter keys) {
  return [&interner, keys = std::move(keys)](std::string_view bytes) {
    return kube::decode_config_map(bytes, {}, keys, interner);
  };
}

void write_changes(base::JsonWriter& json, std::string_view key, const MapChanges& changes) {
  json.key(key).begin_object();
  for (const auto& [name, text] : changes) {
    json.key(name);
    if (text) {
      json.value(std::string_view(*text));
    } else {
      json.null();
    }
  }
  json.end_object();
}

std::string body_of(const MapWrite& write) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object();
  if (write.revision.empty()) json.member("apiVersion", "v1").member("kind", "ConfigMap");
  json.key("metadata").begin_object().member("name", std::string_view(write.name));
  if (!write.revision.empty()) json.member("resourceVersion", std::string_view(write.revision));
  if (!write.annotations.empty()) write_changes(json, "annotations", write.annotations);
  json.end_object();
  write_changes(json, "data", write.data);
  json.end_object();
  return body;
}

}  // namespace

net::Task<Result<std::string>> write_map(kube::Writer& writer, MapWrite write, base::Duration limit,
                                         kube::WriteNote note) {
  kube::WriteOptions options;
  options.ns = write.ns;
  options.note = std::move(note);
  std::string body = body_of(write);
  co_return write.revision.empty()
      ? co_await writer.create(kube::kConfigMaps, std::move(body), options, "", limit)
      : co_await writer.patch(kube::kConfigMaps, write.name, kube::PatchType::kMerge, std::move(body), options, limit);
}

kube::ObjectReference OwnedMap::reference() const {
  return {"v1", "ConfigMap", ns_, name_, object_ ? object_->uid : ""};
}

bool OwnedMap::take(const kube::ConfigMap* map) {
  if (map == nullptr) {
    object_.reset();
    return true;
  }
  // A watch may still bring what was before our own write.
  if (object_ && object_->uid == map->meta.uid && older(map->meta.resource_version, object_->resource_version)) {
    return false;
  }
  object_ = Object{std::string(map->meta.uid), map->meta.resource_version};
  return true;
}

net::Task<Result<std::optional<kube::ConfigMap>>> OwnedMap::read(kube::Reader& reader) {
  auto bytes = co_await reader.get(kube::kConfigMaps, ns_, name_, limit_);
  if (!bytes && bytes.error().kind != ErrorKind::kNotFound) co_return std::unexpected(std::move(bytes).error());
  if (!bytes) {
    take(nullptr);
    co_return std::nullopt;
  }
  TM_CO_TRY(auto map, decode_(*bytes));
  object_.reset();  // asked for now: whatever it is, it is what is there
  take(&map);
  co_return std::optional<kube::ConfigMap>(std::move(map));
}

net::Task<Result<std::optional<kube::ConfigMap>>> OwnedMap::write(kube::Writer& writer, MapChanges data,
                                                                  MapChanges annotations) {
  TM_CO_TRY(const auto answer,
            co_await write_map(
                writer, {ns_, name_, object_ ? object_->resource_version : "", std::move(data), std::move(annotations)},
                limit_));
  TM_CO_TRY(auto map, decode_(answer));
  if (!take(&map)) co_return std::nullopt;
  co_return std::optional<kube::ConfigMap>(std::move(map));
}

WatchedMap::WatchedMap(const Shared& shared, const Which& which, base::Random random,
                       std::function<void(const kube::ConfigMap*)> on_take, std::function<void()> on_change)
    : writer_(shared.writer),
      map_(which.ns, std::string(which.name), decoder(shared.interner, which.keys), which.write_limit),
      maps_({shared.loop, shared.reader, shared.watcher, shared.log, shared.metrics, random},
            only(which.cache, which.ns, which.name), decoder(shared.interner, which.keys)),
      on_take_(std::move(on_take)),
      on_change_(std::move(on_change)),
      scope_(shared.loop) {
  maps_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    if (map_.take(after)) on_take_(after);
    on_change_();
  });
}

void WatchedMap::start() {
  scope_.spawn(maps_.run());
}

net::Task<Result<void>> WatchedMap::write(MapChanges data) {
  TM_CO_TRY(const auto map, co_await map_.write(writer_, std::move(data)));
  if (map) on_take_(&*map);
  co_return Result<void>();
}

}  // namespace tidemark::manager
