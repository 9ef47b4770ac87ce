#include "manager/evictions/budget_store.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/budget/stored.h"

namespace tidemark::manager {
namespace {

kube::InformerConfig only_budgets(const std::string& ns) {
  kube::InformerConfig config;
  config.name = "tidemark-budgets";
  config.resource = kube::kConfigMaps;
  config.ns = ns;
  config.field_selector = base::cat("metadata.name=", model::kBudgetsName);
  return config;
}

Result<kube::ConfigMap> decode(std::string_view bytes, kube::Interner& interner) {
  return kube::decode_config_map(
      bytes, {}, {model::kBudgetsStateKey, model::kBudgetsCountsKey, model::kBudgetsRequestKey}, interner);
}

// Whether `a` is an older revision than `b` of the same object: they are numbers that count up, where they are numbers.
bool older(std::string_view a, std::string_view b) {
  const auto first = base::parse_uint(a);
  const auto second = base::parse_uint(b);
  return first && second && *first < *second;
}

template <class T>
void read(const kube::ConfigMap& map, std::string_view key, Result<T> (*decode_text)(std::string_view),
          std::optional<T>& out, std::string& problem) {
  const auto* text = map.data.find(key);
  if (text == nullptr) return;
  auto value = decode_text(text->view());
  if (value) {
    out = std::move(*value);
  } else {
    problem += base::cat(problem.empty() ? "" : "\n", key, ": ", value.error().message);
  }
}

}  // namespace

StoredBudgets read_budgets(const kube::ConfigMap& map) {
  StoredBudgets stored;
  read(map, model::kBudgetsStateKey, policy::decode_budgets, stored.state, stored.problem);
  read(map, model::kBudgetsCountsKey, policy::decode_counts, stored.counts, stored.problem);
  read(map, model::kBudgetsRequestKey, policy::decode_resume, stored.request, stored.problem);
  return stored;
}

BudgetStore::BudgetStore(net::EventLoop& loop, kube::Reader& reader, kube::Watcher& watcher, kube::Writer& writer,
                         kube::Interner& interner, const base::Log& log, base::Registry& metrics, base::Random random,
                         const std::string& ns, base::Duration write_limit, std::function<void()> on_change)
    : ns_(ns),
      writer_(writer),
      interner_(interner),
      log_(log),
      write_limit_(write_limit),
      maps_(loop, reader, watcher, log, metrics, random, only_budgets(ns),
            [&interner](std::string_view bytes) { return decode(bytes, interner); }),
      on_change_(std::move(on_change)),
      scope_(loop) {
  maps_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    take(after);
    on_change_();
  });
}

void BudgetStore::start() {
  scope_.spawn(maps_.run());
}

kube::ObjectReference BudgetStore::reference() const {
  return {"v1", "ConfigMap", ns_, std::string(model::kBudgetsName), object_ ? object_->uid : ""};
}

void BudgetStore::take(const kube::ConfigMap* map) {
  if (map == nullptr) {
    object_.reset();
    stored_ = {};
    return;
  }
  // The watch may still bring what was before our own write.
  if (object_ && object_->uid == map->meta.uid && older(map->meta.resource_version, object_->resource_version)) return;
  object_ = Object{std::string(map->meta.uid), map->meta.resource_version};
  const std::string told = std::move(stored_.problem);
  stored_ = read_budgets(*map);
  if (!stored_.problem.empty() && stored_.problem != told) {
    log_.error(model::reason_sentence(model::Reason::kBudgetUnreadable),
               {{"config_map", model::kBudgetsName}, {"problem", stored_.problem}});
  }
}

net::Task<Result<void>> BudgetStore::write(std::string state, std::optional<std::string> counts) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object();
  if (!object_) json.member("apiVersion", "v1").member("kind", "ConfigMap");
  json.key("metadata").begin_object().member("name", model::kBudgetsName);
  if (object_) json.member("resourceVersion", std::string_view(object_->resource_version));
  json.end_object();
  json.key("data").begin_object().member(model::kBudgetsStateKey, std::string_view(state));
  if (counts) json.member(model::kBudgetsCountsKey, std::string_view(*counts));
  json.end_object().end_object();

  kube::WriteOptions options;
  options.ns = ns_;
  auto answer = object_ ? co_await writer_.patch(kube::kConfigMaps, model::kBudgetsName, kube::PatchType::kMerge,
                                                 std::move(body), options, write_limit_)
                        : co_await writer_.create(kube::kConfigMaps, std::move(body), options, "", write_limit_);
  if (!answer) co_return std::unexpected(std::move(answer).error());
  TM_CO_TRY(const kube::ConfigMap map, decode(*answer, interner_));
  take(&map);
  co_return Result<void>();
}

}  // namespace tidemark::manager
