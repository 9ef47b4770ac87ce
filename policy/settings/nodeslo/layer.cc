#include "policy/settings/nodeslo/layer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/yaml.h"
#include "policy/settings/fields.h"
#include "policy/settings/report.h"
#include "policy/settings/walk.h"

namespace tidemark::policy::settings {
namespace {

using base::JsonObject;

constexpr std::string_view kBandwidth = "totalNetworkBandwidth";
constexpr std::string_view kSchema = "schema";
constexpr std::string_view kNodeSlo = "nodeSlo";

const SettingsShape& shape_of(model::SloPart part) {
  const auto documents = settings_documents();
  const auto found = std::ranges::find(documents, slo_part_info(part).key, &SettingsDocument::key);
  TM_CHECK(found != documents.end(), "every part has a table of its ranges");
  return *found->strategy;
}

void tell(const SettingsVerdict& verdict, waterline::Problems& problems) {
  for (const auto& each : verdict.errors) {
    problems.add(each.place, base::cat("wanted ", each.allowed, ", found ", each.found));
  }
  for (const auto& each : verdict.warnings) {
    if (each.reason == model::Reason::kSettingsUnknown) {
      problems.add(each.place, base::cat(each.found, "; ", each.allowed));
    }
  }
}

std::optional<JsonObject> read_part(model::SloPart part, const Json& value, const std::string& place,
                                    waterline::Problems& problems) {
  Json given = value;
  std::string walked = place;
  if (part == model::SloPart::kHostApplications) {
    if (!value.is_array()) {
      problems.add(place, base::cat("wanted a list, found ", settings_shown(value)));
      return std::nullopt;
    }
    given = Json::object({{kSloApplications, value}});
    walked = place.substr(0, place.rfind('.'));
  } else if (!value.is_object()) {
    problems.add(place, base::cat("wanted fields by name, found ", settings_shown(value)));
    return std::nullopt;
  }
  SettingsVerdict verdict;
  SettingsReport report(verdict, model::Profile::kTidemark);
  walk_settings(given, shape_of(part), walked, {}, report);
  tell(verdict, problems);
  JsonObject own;
  if (auto read = read_typed(given.dump(), *slo_part_info(part).schema, own); !read) {
    // Not if the walk has reported it already.
    if (verdict.errors.empty()) problems.add(place, std::move(read).error().message);
    return std::nullopt;
  }
  // The table gives it an initial value; only an explicit one counts here.
  if (part == model::SloPart::kSystem && settings_member(given, kBandwidth) == nullptr) own.erase(kBandwidth);
  return own;
}

}  // namespace

JsonObject over(model::SloPart part, JsonObject below, const JsonObject& above) {
  if (part == model::SloPart::kHostApplications) return above;
  return merge_typed(*slo_part_info(part).schema, std::move(below), above);
}

model::SloLayer over(const model::SloLayer& below, const model::SloLayer& above) {
  model::SloLayer out = below;
  for (const SloPartInfo& info : slo_parts()) {
    const auto index = static_cast<std::size_t>(info.part);
    if (!above.parts[index]) continue;
    if (!out.parts[index]) {
      out.parts[index] = above.parts[index];
      continue;
    }
    const bool named = above.parts[index]->contains(kBandwidth) || out.parts[index]->contains(kBandwidth);
    out.parts[index] = over(info.part, std::move(*out.parts[index]), *above.parts[index]);
    if (!named) out.parts[index]->erase(kBandwidth);
  }
  return out;
}

model::SloLayer read_slo_layer(const Json* value, const std::string& place, waterline::Problems& problems) {
  model::SloLayer layer;
  waterline::Form form(value, place, problems);
  for (const SloPartInfo& info : slo_parts()) {
    const Json* member = form.member(info.field);
    if (member == nullptr) continue;
    layer.parts[static_cast<std::size_t>(info.part)] = read_part(info.part, *member, form.place(info.field), problems);
  }
  form.finish();
  return layer;
}

Json slo_layer_json(const model::SloLayer& layer) {
  Json out = Json::object();
  for (const SloPartInfo& info : slo_parts()) {
    const JsonObject* own = layer.of(info.part);
    if (own == nullptr) continue;
    Json part = Json::parse(write_typed(*info.schema, *own)).value_or(Json::object());
    if (info.part == model::SloPart::kHostApplications) {
      const Json* list = part.member(kSloApplications);
      part = list == nullptr ? Json::array() : Json(*list);
    }
    out[info.field] = std::move(part);
  }
  return out;
}

std::expected<NodeSettings, std::vector<waterline::Problem>> parse_node_settings(std::string_view text) {
  const auto only = [](std::string why) {
    return std::unexpected(std::vector<waterline::Problem>{{"", std::move(why)}});
  };
  if (text.size() > kNodeSettingsBytesMax) {
    return only(base::cat(text.size(), " bytes; at most ", kNodeSettingsBytesMax, " are read"));
  }
  const auto document = base::parse_yaml(text);
  if (!document) return only(document.error().message);
  waterline::Problems problems;
  NodeSettings settings;
  waterline::Form form(&*document, "", problems);
  if (problems.any()) return std::unexpected(problems.take());
  const Json* schema = form.member(kSchema);
  if (schema == nullptr) {
    form.missing(kSchema, base::cat("say schema: ", kNodeSettingsSchema));
    return std::unexpected(problems.take());
  }
  // Another schema is unknown, so no more problems are reported for the text.
  if (!schema->is_int() || schema->as_int() != kNodeSettingsSchema) {
    form.problem(kSchema, base::cat("this version reads schema ", kNodeSettingsSchema, ", found ", schema->dump()));
    return std::unexpected(problems.take());
  }
  settings.slo = read_slo_layer(form.member(kNodeSlo), form.place(kNodeSlo), problems);
  form.finish();
  if (problems.any()) return std::unexpected(problems.take());
  return settings;
}

Json node_settings_json(const NodeSettings& settings) {
  return Json::object({{kSchema, Json(kNodeSettingsSchema)}, {kNodeSlo, slo_layer_json(settings.slo)}});
}

}  // namespace tidemark::policy::settings
