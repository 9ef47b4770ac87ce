#include "manager/evictions/budget_store.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::manager {
namespace {

template <class T>
void read(const kube::ConfigMap& map, std::string_view key, Result<T> (*decode_text)(std::string_view),
          std::optional<T>& out, StoredBudgets& stored) {
  const auto* text = map.data.find(key);
  if (text == nullptr) return;
  auto value = decode_text(text->view());
  if (value) {
    out = std::move(*value);
    return;
  }
  stored.problem += base::cat(stored.problem.empty() ? "" : "\n", key, ": ", value.error().message);
  // A request is its writer's: nothing is written over it anyway.
  const bool ours =
      key == model::kBudgetsStateKey || key == model::kBudgetsCountsKey || key == policy::evict::kBudgetsGrantsKey;
  if (!ours) return;
  stored.newer = stored.newer || value.error().kind == ErrorKind::kUnsupported;
}

}  // namespace

StoredBudgets read_budgets(const kube::ConfigMap& map) {
  StoredBudgets stored;
  read(map, model::kBudgetsStateKey, policy::evict::decode_budgets, stored.state, stored);
  read(map, model::kBudgetsCountsKey, policy::evict::decode_counts, stored.counts, stored);
  read(map, policy::evict::kBudgetsGrantsKey, policy::evict::decode_grants, stored.grants, stored);
  for (const auto& [key, text] : map.data) {
    const bool is_request =
        key.view() == model::kBudgetsRequestKey || key.view().starts_with(policy::evict::kResumeKeys);
    if (!is_request || stored.requests.size() >= policy::evict::kResumeRequestsMax) continue;
    std::optional<policy::evict::ResumeRequest> request;
    read(map, key.view(), policy::evict::decode_resume, request, stored);
    if (!request) continue;
    stored.request_keys.emplace_back(key.view());
    const bool there =
        std::ranges::find(stored.requests, request->id, &policy::evict::ResumeRequest::id) != stored.requests.end();
    if (!there) stored.requests.push_back(std::move(*request));
  }
  return stored;
}

BudgetStore::BudgetStore(const Shared& shared, std::string ns, base::Duration write_limit, base::Random random,
                         std::function<void()> on_change)
    : log_(shared.log),
      map_(
          shared,
          {std::move(ns),
           model::kBudgetsName,
           model::kBudgetsName,
           {model::kBudgetsStateKey, model::kBudgetsCountsKey, policy::evict::kBudgetsGrantsKey,
            model::kBudgetsRequestKey, base::cat(policy::evict::kResumeKeys, "*")},
           write_limit},
          random, [this](const kube::ConfigMap* map) { take(map); }, std::move(on_change)) {}

void BudgetStore::take(const kube::ConfigMap* map) {
  if (map == nullptr) {
    stored_ = {};
    return;
  }
  const std::string told = std::move(stored_.problem);
  stored_ = read_budgets(*map);
  if (!stored_.problem.empty() && stored_.problem != told) {
    log_.error(stored_.newer ? kBudgetsNewer : model::reason_sentence(model::Reason::kBudgetUnreadable),
               {{"config_map", model::kBudgetsName}, {"problem", stored_.problem}});
  }
}

net::Task<Result<void>> BudgetStore::write(Texts texts) {
  MapChanges data{{std::string(model::kBudgetsStateKey), std::move(texts.state)}};
  if (texts.counts) data.emplace(model::kBudgetsCountsKey, std::move(texts.counts));
  if (texts.grants) data.emplace(policy::evict::kBudgetsGrantsKey, std::move(texts.grants));
  for (const auto& key : stored_.request_keys) data.emplace(key, std::nullopt);
  return map_.write(std::move(data));
}

}  // namespace tidemark::manager
