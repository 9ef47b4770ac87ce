#include "manager/settings/revision_store.h"

#include <map>
#include <string>
#include <utility>

#include "model/names.h"

namespace tidemark::manager {

RevisionStore::RevisionStore(const Shared& shared, std::string ns, base::Duration write_limit, base::Random random,
                             std::function<void()> on_change)
    : log_(shared.log),
      map_(
          shared, {std::move(ns), model::kRevisionsName, "revisions", kube::KeyFilter::all(), write_limit}, random,
          [this](const kube::ConfigMap* map) { take(map); }, std::move(on_change)) {}

void RevisionStore::take(const kube::ConfigMap* map) {
  if (map == nullptr) {
    stored_ = {};
    return;
  }
  std::map<std::string, std::string, std::less<>> data;
  for (const auto& [key, text] : map->data) data.emplace(key.view(), text.view());
  stored_ = policy::settings::decode_stored(data);
  if (!stored_.problem.empty()) {
    log_.error("cannot read all stored revisions",
               {{"config_map", model::kRevisionsName}, {"problem", stored_.problem}});
  }
}

net::Task<Result<void>> RevisionStore::write(const policy::settings::RevisionBook& book,
                                             const policy::settings::RolloutState& state) {
  const auto changes = policy::settings::stored_changes(stored_, book, state);
  if (changes.empty() && exists()) co_return Result<void>();
  co_return co_await map_.write({changes.begin(), changes.end()});
}

}  // namespace tidemark::manager
