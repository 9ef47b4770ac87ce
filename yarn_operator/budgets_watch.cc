#include "yarn_operator/budgets_watch.h"

#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::yarn_operator {
namespace {

kube::InformerConfig budgets_of(const std::string& ns) {
  kube::InformerConfig config;
  config.name = "budgets";
  config.resource = kube::kConfigMaps;
  config.ns = ns;
  config.field_selector = base::cat("metadata.name=", model::kBudgetsName);
  config.may_be_absent = true;  // if the role does not allow it; then there is no grant
  return config;
}

// Skips the counts: they are not needed and can be large.
const kube::KeyFilter& read_keys() {
  static const kube::KeyFilter keys{model::kBudgetsStateKey, policy::evict::kBudgetsGrantsKey};
  return keys;
}

template <class T>
T read(const kube::ConfigMap* map, std::string_view key, Result<T> (*decode)(std::string_view), base::Log& log) {
  const kube::Text* text = map == nullptr ? nullptr : map->data.find(key);
  if (text == nullptr) return {};
  auto value = decode(text->view());
  if (value) return *std::move(value);
  log.warn("cannot read eviction budgets; no grant",
           {{"map", model::kBudgetsName}, {"key", key}, {"why", value.error().message}});
  return {};
}

}  // namespace

BudgetsWatch::BudgetsWatch(const kube::InformerParts& parts, kube::Interner& interner, const std::string& ns,
                           std::function<void()> on_change)
    : log_(parts.log), maps_(parts, budgets_of(ns), [&interner](std::string_view bytes) {
        return kube::decode_config_map(bytes, {}, read_keys(), interner);
      }) {
  maps_.subscribe([this, on_change = std::move(on_change)](const kube::ObjectKey&, const kube::ConfigMap*,
                                                           const kube::ConfigMap* after) {
    take(after);
    on_change();
  });
}

void BudgetsWatch::take(const kube::ConfigMap* map) {
  state_ = read(map, model::kBudgetsStateKey, policy::evict::decode_budgets, log_);
  grants_ = read(map, policy::evict::kBudgetsGrantsKey, policy::evict::decode_grants, log_);
}

PoolHour BudgetsWatch::of(const std::string& pool, base::WallTime now) const {
  return hour_of(state_, grants_, pool, now);
}

}  // namespace tidemark::yarn_operator
