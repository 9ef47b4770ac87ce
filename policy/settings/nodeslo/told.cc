#include "policy/settings/nodeslo/told.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/generation.h"
#include "policy/sell/ledger/books.h"

namespace tidemark::policy::settings {
namespace {

std::optional<NodeReclaim> reclaim_in(const Json& ours) {
  const Json* reclaim = ours.member("reclaim");
  const Json* schema = ours.member("schema");
  if (reclaim == nullptr || schema == nullptr || schema->get_int().value_or(0) != evict::kGrantSchema)
    return std::nullopt;
  const Json* classes = reclaim->member("classes");
  const Json* generation = reclaim->member("generation");
  if (classes == nullptr || generation == nullptr || !generation->is_int()) return std::nullopt;
  auto read = model::read_reclaim(*classes);
  // An unreadable one is written again, with a larger number.
  return NodeReclaim{generation->as_int(), read ? std::move(*read) : std::vector<model::Reclaim>()};
}

// A class that occurs twice has two levels, and neither can be preferred.
const model::Reclaim* named_twice(const std::vector<model::Reclaim>& classes) {
  for (auto each = classes.begin(); each != classes.end(); ++each) {
    if (std::find_if(classes.begin(), each,
                     [&](const model::Reclaim& before) { return before.work_class == each->work_class; }) != each) {
      return &*each;
    }
  }
  return nullptr;
}

}  // namespace

Result<NodeReclaim> read_node_reclaim(const Json& ours) {
  const Json* reclaim = ours.member("reclaim");
  if (reclaim == nullptr || reclaim->is_null()) return NodeReclaim();
  const Json* schema = ours.member("schema");
  const std::int64_t written = schema == nullptr ? 0 : schema->get_int().value_or(0);
  if (written != evict::kGrantSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", written, "; this version reads ", evict::kGrantSchema);
  }
  const Json* generation = reclaim->member("generation");
  if (generation == nullptr || !generation->is_int()) {
    return fail(ErrorKind::kInvalid, "generation: wanted a whole number");
  }
  const Json* classes = reclaim->member("classes");
  if (classes == nullptr) return fail(ErrorKind::kInvalid, "classes: missing");
  NodeReclaim out{generation->as_int(), {}};
  TM_TRY(out.classes, model::read_reclaim(*classes));
  if (const model::Reclaim* twice = named_twice(out.classes)) {
    return fail(ErrorKind::kInvalid, "classes: ", base::in_quotes(twice->work_class), " occurs twice");
  }
  return out;
}

NodeTold read_told(const Json& ours) {
  NodeTold told;
  const Json* schema = ours.member("schema");
  const auto said = schema == nullptr ? std::nullopt : schema->get_int();
  told.known = !said || *said <= evict::kGrantSchema;  // without a number it is not of a newer version
  if (const Json* settings = ours.member("settings")) told.settings = settings->dump();
  if (auto grant = evict::read_grant(ours)) told.grant = std::move(*grant);
  told.reclaim = reclaim_in(ours);
  if (auto agent = read_agent_word(ours)) told.agent = *std::move(agent);
  if (auto lines = read_line_caps(ours)) told.lines = *std::move(lines);
  return told;
}

std::string told_json(const NodeTold& told) {
  std::string out;
  if (!told.grant && !told.reclaim && told.settings.empty() && !told.agent && told.lines.empty()) return out;
  base::JsonWriter json(out);
  json.begin_object().member("schema", evict::kGrantSchema);
  if (told.grant) evict::write_grant(json, *told.grant);
  if (told.reclaim) {
    json.key("reclaim").begin_object().member("generation", told.reclaim->generation).key("classes");
    model::write_reclaim(json, told.reclaim->classes);
    json.end_object();
  }
  if (!told.settings.empty()) json.key("settings").raw(told.settings);
  if (told.agent) write_agent_word(json, *told.agent);
  if (!told.lines.empty()) write_line_caps(json, told.lines);
  json.end_object();
  return out;
}

std::optional<std::string> next_told(const NodeTold& carried, const KnownTold& known, base::WallTime now) {
  const bool anything = known.grant || known.reclaim || known.settings || known.agent || known.lines;
  if (!carried.known || !anything) return std::nullopt;
  NodeTold next = carried;
  if (known.grant) next.grant = *known.grant;
  if (known.reclaim) {
    const NodeReclaim before = carried.reclaim.value_or(NodeReclaim());
    if (sell::worth_telling(before.classes, *known.reclaim)) {
      next.reclaim = NodeReclaim{model::next_generation(before.generation, now), *known.reclaim};
    }
  }
  if (known.settings) next.settings = *known.settings;
  if (known.agent) next.agent = *known.agent;
  if (known.lines) next.lines = *known.lines;
  return told_json(next);
}

}  // namespace tidemark::policy::settings
