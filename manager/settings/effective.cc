#include "manager/settings/effective.h"

#include <utility>

#include "base/text.h"
#include "manager/capacity/decide.h"
#include "model/names.h"
#include "policy/explain/rollout_text.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::manager {
namespace {

void note(std::string& notes, const std::string& line) {
  notes += base::cat(notes.empty() ? "" : "\n", line);
}

// What the two ConfigMaps hold, good or not.
policy::settings::SettingsTexts texts_in(const SettingsMaps& maps) {
  policy::settings::SettingsTexts texts;
  if (maps.slo) {
    for (const auto& [key, text] : maps.slo->data) texts.slo.emplace(key.view(), text.view());
  }
  if (maps.tidemark) {
    if (const auto* text = maps.tidemark->data.find(model::kTidemarkConfigKey)) texts.tidemark = text->view();
  }
  return texts;
}

// What they say, where nothing is stored that was in force before.
Result<Revision> from_maps(const SettingsMaps& maps, const ZonesOf& zones, std::string& notes) {
  Revision revision;
  const kube::ConfigMap* slo = maps.slo ? &*maps.slo : nullptr;
  for (const RevisionPart& part : revision_parts()) {
    const auto taken = part.take(revision, config_source(slo, part.key));
    if (!taken.problem.empty()) note(notes, base::cat(part.key, " is refused: ", taken.problem));
  }
  if (!revision.colocation.config) {
    return fail(ErrorKind::kInvalid,
                "the co-location settings cannot be used, and no earlier ones are stored: ", notes);
  }
  policy::settings::TidemarkSource source;
  source.found = maps.tidemark.has_value();
  if (maps.tidemark) {
    for (const auto& [key, text] : maps.tidemark->data) {
      if (key == model::kTidemarkConfigKey) {
        source.text = text.view();
      } else {
        source.other_keys.emplace_back(key.view());
      }
    }
  }
  auto step = policy::settings::next_tidemark_config({}, source,
                                                     source.text ? zones(*source.text) : policy::waterline::Zones());
  if (!step.problem.empty()) note(notes, base::cat(model::kTidemarkConfigName, " is refused: ", step.problem));
  if (!step.state.config) {
    return fail(ErrorKind::kInvalid, "tidemark-config cannot be used, and no earlier one is stored: ", notes);
  }
  revision.tidemark = std::move(*step.state.config);
  revision.texts = texts_in(maps);
  revision.hash = policy::settings::hash_of(revision.texts);
  return revision;
}

}  // namespace

std::map<std::string, std::string, std::less<>> data_of(const kube::ConfigMap& map) {
  std::map<std::string, std::string, std::less<>> data;
  for (const auto& [key, text] : map.data) data.emplace(key.view(), text.view());
  return data;
}

Result<EffectiveSettings> effective_settings(const SettingsMaps& maps, const kube::Node& node, const ZonesOf& zones) {
  EffectiveSettings found;
  policy::settings::Stored stored;
  if (maps.revisions) stored = policy::settings::decode_stored(data_of(*maps.revisions));
  const auto texts_of = [&](std::string_view hash) -> std::optional<Revision> {
    const auto* kept = policy::settings::find_revision(stored.book, hash);
    return kept == nullptr ? std::nullopt : revision_of(kept->texts, zones);
  };
  if (stored.state && !stored.state->layers.empty()) {
    const auto& state = *stored.state;
    const auto target = texts_of(state.target());
    const auto bottom = texts_of(state.layers.front().revision);
    const auto& governs = bottom && bottom->texts.tidemark ? bottom : target;
    const bool canary = governs && policy::waterline::pool_of(governs->tidemark, node.meta.labels).canary;
    const std::string& hash = in_force(state, node.meta.name, canary);
    if (auto revision = texts_of(hash)) {
      found.revision = std::move(*revision);
      if (state.layers.size() > 1) {
        note(found.notes,
             base::cat("revision ", policy::explain::revision_name(stored.book, hash),
                       " of the settings is in force here; ",
                       policy::explain::revision_name(stored.book, state.target()), " is being rolled out"));
      }
      if (state.layers.size() == 1 && texts_in(maps) != found.revision.texts) {
        note(found.notes,
             base::cat("the ConfigMaps say something else than revision ",
                       policy::explain::revision_name(stored.book, hash),
                       ", which is in force: an edit that no manager has taken yet, or one that is refused"));
      }
      found.pool = policy::waterline::pool_of(found.revision.tidemark, node.meta.labels).name;
      found.ground = policy::explain::settings_ground(stored, state, hash, canary);
      found.ground.pool = found.pool;
      return found;
    }
  }
  TM_TRY(found.revision, from_maps(maps, zones, found.notes));
  const model::Pool& pool = policy::waterline::pool_of(found.revision.tidemark, node.meta.labels);
  found.pool = pool.name;
  found.ground.hash = found.revision.hash;
  found.ground.pool = pool.name;
  found.ground.canary = pool.canary;
  return found;
}

}  // namespace tidemark::manager
