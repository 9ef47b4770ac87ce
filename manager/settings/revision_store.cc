#include "manager/settings/revision_store.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

kube::InformerConfig only_revisions(const std::string& ns) {
  kube::InformerConfig config;
  config.resource = kube::kConfigMaps;
  config.name = "revisions";
  config.ns = ns;
  config.field_selector = base::cat("metadata.name=", model::kRevisionsName);
  return config;
}

Result<kube::ConfigMap> decode(std::string_view bytes, kube::Interner& interner) {
  return kube::decode_config_map(bytes, {}, kube::KeyFilter::all(), interner);
}

// Whether `a` is an older revision than `b` of the same object: they are numbers that count up, where they are numbers.
bool older(std::string_view a, std::string_view b) {
  const auto first = base::parse_uint(a);
  const auto second = base::parse_uint(b);
  return first && second && *first < *second;
}

}  // namespace

RevisionStore::RevisionStore(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher, kube::Writer& writer,
                             kube::Interner& interner, const base::Log& log, base::Registry& metrics,
                             base::Random random, const std::string& ns, base::Duration write_limit,
                             std::function<void()> on_change)
    : ns_(ns),
      writer_(writer),
      interner_(interner),
      log_(log),
      write_limit_(write_limit),
      maps_(loop, reader, watcher, log, metrics, random, only_revisions(ns),
            [&interner](std::string_view bytes) { return decode(bytes, interner); }),
      on_change_(std::move(on_change)),
      scope_(loop) {
  maps_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    take(after);
    on_change_();
  });
}

void RevisionStore::start() {
  scope_.spawn(maps_.run());
}

net::Task<bool> RevisionStore::wait_synced(base::Duration limit) {
  return maps_.wait_synced(limit);
}

kube::ObjectReference RevisionStore::reference() const {
  return {"v1", "ConfigMap", ns_, std::string(model::kRevisionsName), object_ ? object_->uid : ""};
}

void RevisionStore::take(const kube::ConfigMap* map) {
  if (map == nullptr) {
    object_.reset();
    stored_ = {};
    return;
  }
  // The watch may still bring what was before our own write.
  if (object_ && object_->uid == map->meta.uid && older(map->meta.resource_version, object_->resource_version)) return;
  object_ = Object{std::string(map->meta.uid), map->meta.resource_version};
  std::map<std::string, std::string, std::less<>> data;
  for (const auto& [key, text] : map->data) data.emplace(key.view(), text.view());
  stored_ = policy::decode_stored(data);
  if (!stored_.problem.empty()) {
    log_.error("stored revisions cannot be read in part",
               {{"config_map", model::kRevisionsName}, {"problem", stored_.problem}});
  }
}

net::Task<Result<void>> RevisionStore::write(const policy::RevisionBook& book, const policy::RolloutState& state) {
  const auto changes = policy::stored_changes(stored_, book, state);
  if (changes.empty() && object_) co_return Result<void>();
  std::string body;
  base::JsonWriter json(body);
  json.begin_object();
  if (!object_) json.member("apiVersion", "v1").member("kind", "ConfigMap");
  json.key("metadata").begin_object().member("name", model::kRevisionsName);
  if (object_) json.member("resourceVersion", std::string_view(object_->resource_version));
  json.end_object();
  json.key("data").begin_object();
  for (const auto& [key, text] : changes) {
    json.key(key);
    if (text) {
      json.value(std::string_view(*text));
    } else {
      json.null();
    }
  }
  json.end_object().end_object();

  kube::WriteOptions options;
  options.ns = ns_;
  auto answer = object_ ? co_await writer_.patch(kube::kConfigMaps, model::kRevisionsName, kube::PatchType::kMerge,
                                                 std::move(body), options, write_limit_)
                        : co_await writer_.create(kube::kConfigMaps, std::move(body), options, "", write_limit_);
  if (!answer) co_return std::unexpected(std::move(answer).error());
  TM_CO_TRY(const kube::ConfigMap map, decode(*answer, interner_));
  take(&map);
  co_return Result<void>();
}

}  // namespace tidemark::manager
