#include "operate/revisions.h"

#include <map>
#include <optional>
#include <utility>

#include "kube/objects.h"
#include "manager/settings/effective.h"
#include "model/names.h"
#include "operate/get.h"

namespace tidemark::operate {
namespace {

using RevisionTexts = std::map<std::string, std::string>;

void compare_map(std::vector<SettingsTextChange>& changes, std::string_view map, const RevisionTexts& before,
                 const RevisionTexts& after) {
  RevisionTexts keys = before;
  keys.insert(after.begin(), after.end());
  const auto text_in = [](const RevisionTexts& texts, const std::string& key) {
    const auto found = texts.find(key);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  };
  for (const auto& [key, text] : keys) {
    SettingsTextChange change{std::string(map), key, text_in(before, key), text_in(after, key)};
    if (change.before != change.after) changes.push_back(std::move(change));
  }
}

RevisionTexts tidemark_map(const policy::settings::SettingsTexts& texts) {
  if (!texts.tidemark) return {};
  return {{std::string(model::kTidemarkConfigKey), *texts.tidemark}};
}

}  // namespace

net::Task<Result<RevisionsNow>> read_revisions_now(kube::Client& client, SettingsOptions options) {
  RevisionsNow now;
  kube::Interner interner;
  const auto read = [&](std::string_view name) {
    return config_map(client, options.config_namespace, std::string(name), options.limit, interner);
  };
  TM_CO_TRY(const auto revisions, co_await read(model::kRevisionsName));
  TM_CO_TRY(const auto slo, co_await read(options.config_name));
  TM_CO_TRY(const auto tidemark, co_await read(model::kTidemarkConfigName));
  if (revisions) {
    now.is_stored = true;
    now.stored = policy::settings::decode_stored(manager::data_of(*revisions));
  }
  if (slo) {
    for (const auto& [key, text] : slo->data) now.texts.slo.emplace(key.view(), text.view());
  }
  if (tidemark) {
    if (const auto* text = tidemark->data.find(model::kTidemarkConfigKey)) now.texts.tidemark = text->view();
  }
  now.hash = policy::settings::hash_of(now.texts);
  co_return now;
}

std::vector<SettingsTextChange> changes_between(const policy::settings::SettingsTexts& before,
                                                const policy::settings::SettingsTexts& after,
                                                std::string_view config_name) {
  std::vector<SettingsTextChange> changes;
  compare_map(changes, config_name, before.slo, after.slo);
  compare_map(changes, model::kTidemarkConfigName, tidemark_map(before), tidemark_map(after));
  return changes;
}

}  // namespace tidemark::operate
