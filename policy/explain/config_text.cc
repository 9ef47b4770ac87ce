#include "policy/explain/config_text.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/explain/why.h"
#include "policy/settings/nodeslo/parts.h"

namespace tidemark::policy::explain {
namespace {

constexpr int kExplainSchema = 1;

std::string entry_place(const model::PartInForce& part) {
  return base::cat(part.list, "[", *part.entry, "]",
                   part.entry_name.empty() ? "" : base::cat(" \"", part.entry_name, "\""));
}

std::string place(const model::PartInForce& part, const model::FieldInForce& field) {
  switch (field.origin) {
    case model::FieldOrigin::kDefault:
      return "default";
    case model::FieldOrigin::kCluster:
      return part.list == "nodeConfigs" ? "the cluster's settings" : "clusterStrategy";
    case model::FieldOrigin::kEntry:
      return entry_place(part);
    case model::FieldOrigin::kPool:
      return "tidemark-config: nodeSlo of the pool";
    case model::FieldOrigin::kAnnotation:
      return base::cat("annotation ", field.from);
    case model::FieldOrigin::kLabel:
      return base::cat("label ", field.from);
  }
  return "default";
}

// "; configured 65; calendar night-rise, entry night: …".
std::string moved_text(const model::FieldInForce& field) {
  if (!field.moved) return "";
  const model::FieldMoved& moved = *field.moved;
  std::string by = moved.calendar.empty() ? "" : base::cat("; calendar ", moved.calendar);
  if (!moved.entry.empty()) by += base::cat(", entry ", moved.entry);
  if (!moved.override_by.empty()) by = base::cat("; overridden by ", moved.override_by);
  return base::cat("; configured ", moved.configured, by, ": ", why(moved.reason));
}

std::string_view word(model::FieldOrigin origin) {
  switch (origin) {
    case model::FieldOrigin::kDefault:
      return "default";
    case model::FieldOrigin::kCluster:
      return "cluster";
    case model::FieldOrigin::kEntry:
      return "entry";
    case model::FieldOrigin::kPool:
      return "pool";
    case model::FieldOrigin::kAnnotation:
      return "annotation";
    case model::FieldOrigin::kLabel:
      return "label";
  }
  return "default";
}

void append_part(std::string& out, const model::PartInForce& part) {
  out += base::cat("\n", part.key, part.spec.empty() ? "" : base::cat("  (NodeSLO spec.", part.spec, ")"), "\n");
  if (!part.problem.empty()) {
    out += base::cat("  ", why(part.reason), "\n  ", part.problem, "\n");
    return;
  }
  if (part.reason != model::Reason::kConfigApplied) out += base::cat("  ", why(part.reason), "\n");
  if (part.entry) out += base::cat("  this node is matched by ", entry_place(part), "\n");
  std::size_t path_width = 0;
  std::size_t value_width = 0;
  for (const auto& field : part.fields) {
    path_width = std::max(path_width, field.path.size());
    value_width = std::max(value_width, field.value.size());
  }
  for (const auto& field : part.fields) {
    out +=
        base::cat("    ", field.path, std::string(path_width - field.path.size() + 2, ' '), field.value,
                  std::string(value_width - field.value.size() + 3, ' '), place(part, field), moved_text(field), "\n");
  }
  if (part.fields.empty()) out += part.left_out ? "    not in the spec\n" : "    no values are set\n";
  for (const auto note : part.notes) out += base::cat("  note: ", why(note), "\n");
}

void append_agent(std::string& out, const model::AgentWord& word) {
  out += base::cat("\nagent  (NodeSLO spec.", settings::kSloExtensions, ".", settings::kSloObject, ".",
                   settings::kSloOurs, ".agent)\n");
  std::vector<std::pair<std::string_view, std::string>> rows;
  for (const model::Strategy each : model::kStrategies) {
    const model::Mode mode = word.modes.of(each);
    if (mode != model::Mode::kEnforce) rows.emplace_back(to_string(each), to_string(mode));
  }
  if (rows.empty()) out += "    enforces all its strategies\n";
  if (word.modes.reaction) rows.emplace_back(model::kReactionMode, to_string(word.modes.of_reaction()));
  std::vector<std::string> names;
  names.reserve(word.classes.size());
  for (const model::WorkClass& each : word.classes) names.push_back(each.name);
  if (!names.empty()) rows.emplace_back("classes", base::join(names, ", "));
  std::size_t width = 0;
  for (const auto& [name, said] : rows) width = std::max(width, name.size());
  for (const auto& [name, said] : rows) {
    out += base::cat("    ", name, std::string(width - name.size() + 2, ' '), said, "\n");
  }
}

Json agent_json(const model::AgentWord& word) {
  Json strategies = Json::object();
  for (const model::Strategy each : model::kStrategies) {
    strategies[to_string(each)] = Json(to_string(word.modes.of(each)));
  }
  if (word.modes.reaction) strategies[model::kReactionMode] = Json(to_string(word.modes.of_reaction()));
  Json classes = Json::array();
  for (const model::WorkClass& each : word.classes) classes.as_array().push_back(Json(each.name));
  return Json::object({{"strategies", std::move(strategies)}, {"classes", std::move(classes)}});
}

}  // namespace

std::string render_text(const ConfigInForce& config) {
  std::string out = base::cat("node ", config.node, ": what ConfigMap ", config.config_map, " says for it\n");
  if (!config.config_map_found)
    out += "the ConfigMap does not exist: defaults are shown; a running manager keeps its settings\n";
  if (!config.revision.empty()) {
    out += base::cat("settings: ", config.revision, config.pool.empty() ? "" : ", pool ", config.pool, "\n");
  }
  for (const auto& note : config.notes) out += base::cat("note: ", note, "\n");
  for (const auto& part : config.parts) append_part(out, part);
  if (config.agent) append_agent(out, *config.agent);
  out += "\n";
  if (!config.object) {
    out += "the node has no NodeSLO yet\n";
  } else if (config.object->differs.empty()) {
    out += "the node's NodeSLO matches\n";
  } else {
    out += base::cat(
        "the node's NodeSLO differs in: ", base::join(config.object->differs, ", "),
        "\n  (the manager has not written it yet, its settings reach the nodes in steps, or it refused the text)\n");
  }
  return out;
}

Json render_json(const ConfigInForce& config) {
  Json out = Json::object({{"schema", kExplainSchema},
                           {"node", Json(config.node)},
                           {"configMap", Json(config.config_map)},
                           {"configMapFound", Json(config.config_map_found)}});
  out["pool"] = config.pool.empty() ? Json(nullptr) : Json(config.pool);
  out["notes"] = Json::array();
  for (const auto& note : config.notes) out["notes"].as_array().push_back(Json(note));
  out["settings"] = config.revision.empty() ? Json(nullptr) : Json(config.revision);
  Json parts = Json::array();
  for (const auto& part : config.parts) {
    Json shown = Json::object({{"key", Json(part.key)},
                               {"reason", Json::object({{"id", Json(model::reason_id(part.reason))},
                                                        {"text", Json(model::reason_sentence(part.reason))}})}});
    shown["spec"] = part.spec.empty() ? Json(nullptr) : Json(part.spec);
    shown["problem"] = part.problem.empty() ? Json(nullptr) : Json(part.problem);
    shown["entry"] = part.entry ? Json::object({{"list", Json(part.list)},
                                                {"index", Json(static_cast<std::int64_t>(*part.entry))},
                                                {"name", Json(part.entry_name)}})
                                : Json(nullptr);
    Json fields = Json::array();
    for (const auto& field : part.fields) {
      Json row = Json::object({{"path", Json(field.path)},
                               {"value", Json::parse(field.value).value_or(Json(field.value))},
                               {"origin", Json(word(field.origin))}});
      if (!field.from.empty()) row["from"] = Json(field.from);
      if (field.moved) {
        row["configured"] = Json(field.moved->configured);
        row["calendar"] = Json(field.moved->calendar);
        row["entry"] = field.moved->entry.empty() ? Json(nullptr) : Json(field.moved->entry);
        if (!field.moved->override_by.empty()) row["overriddenBy"] = Json(field.moved->override_by);
        row["reason"] = why_json(field.moved->reason);
      }
      fields.as_array().push_back(std::move(row));
    }
    shown["fields"] = std::move(fields);
    shown["leftOut"] = Json(part.left_out);
    Json notes = Json::array();
    for (const auto note : part.notes) {
      notes.as_array().push_back(
          Json::object({{"id", Json(model::reason_id(note))}, {"text", Json(model::reason_sentence(note))}}));
    }
    shown["notes"] = std::move(notes);
    parts.as_array().push_back(std::move(shown));
  }
  out["parts"] = std::move(parts);
  out["agent"] = config.agent ? agent_json(*config.agent) : Json(nullptr);
  if (config.object) {
    Json differs = Json::array();
    for (const auto& field : config.object->differs) differs.as_array().push_back(Json(field));
    out["nodeSLO"] = Json::object({{"differs", std::move(differs)}});
  } else {
    out["nodeSLO"] = Json(nullptr);
  }
  return out;
}

}  // namespace tidemark::policy::explain
