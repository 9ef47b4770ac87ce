#include "policy/settings/nodeslo/agent_word.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "policy/evict/budget/grants.h"
#include "policy/settings/config/budget_form.h"
#include "policy/settings/config/mode_form.h"
#include "policy/settings/config/parse.h"
#include "policy/waterline/form.h"

namespace tidemark::policy::settings {
namespace {

constexpr std::string_view kAgent = "agent";
constexpr std::int64_t seconds_of(base::Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

std::vector<model::WorkClass> read_classes(waterline::Form& agent, waterline::Problems& problems) {
  std::vector<model::WorkClass> classes;
  std::map<std::string, std::string> names;
  std::map<std::int64_t, std::string> orders;
  agent.list("classes", model::kClassesMax, [&](const Json& item, std::string place) {
    waterline::Form entry(&item, place, problems);
    model::WorkClass work;
    work.name = waterline::read_name(entry, place, names);
    entry.integer("order", work.order, 0, model::kClassOrderMax);
    if (!entry.has("order")) entry.missing("order", "the class with the lowest is suppressed first");
    entry.integer("cpuWeight", work.cpu_weight, 1, model::kClassWeightMax);
    entry.integer("memoryLowPercent", work.memory_low_percent, 0, model::kClassMemoryLowMax);
    std::int64_t restart_cost_s = 0;
    entry.integer("restartCostSeconds", restart_cost_s, 0, seconds_of(model::kClassRestartCostMax));
    work.restart_cost = std::chrono::seconds(restart_cost_s);
    entry.boolean("checkpointing", work.checkpointing);
    if (const auto [at, fresh] = orders.emplace(work.order, place); !fresh && entry.has("order")) {
      entry.problem("order", base::cat(at->second, " has the same order"));
    }
    classes.push_back(std::move(work));
  });
  std::ranges::sort(classes, {}, &model::WorkClass::order);
  return classes;
}

model::EvictSettings read_evict(waterline::Form& agent, waterline::Problems& problems) {
  model::EvictSettings out;
  waterline::Form each(agent.member("evict"), agent.place("evict"), problems);
  std::int64_t grace_s = seconds_of(out.grace);
  each.integer("graceSeconds", grace_s, seconds_of(model::kEvictGraceMin), seconds_of(model::kEvictGraceMax));
  out.grace = std::chrono::seconds(grace_s);
  read_evict_lines(each, out);
  if (each.has("perHour")) {
    std::int64_t limit = model::kEvictionsPerHourMax;
    each.integer("perHour", limit, 1, model::kEvictionsPerHourMax);
    out.per_hour = limit;
  }
  return out;
}

// Rounded up to whole seconds: a positive duration does not become 0.
std::int64_t seconds_up(base::Duration duration) {
  return std::chrono::ceil<std::chrono::seconds>(duration).count();
}

}  // namespace

Result<std::optional<model::AgentWord>> read_agent_word(const Json& ours) {
  const Json* schema = ours.member("schema");
  const std::int64_t written = schema == nullptr ? 0 : schema->get_int().value_or(0);
  if (written != evict::kGrantSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", written, "; this version reads ", evict::kGrantSchema);
  }
  const Json* said = ours.member(kAgent);
  if (said == nullptr || said->is_null()) return std::nullopt;
  waterline::Problems problems;
  waterline::Form agent(said, std::string(kAgent), problems);
  model::AgentWord word;
  waterline::Form modes(agent.member("modes"), agent.place("modes"), problems);
  read_agent_modes(modes, word.modes);
  word.classes = read_classes(agent, problems);
  agent.text("business", word.business);
  word.evict = read_evict(agent, problems);
  if (problems.any()) return fail(ErrorKind::kInvalid, to_string(problems.take()));
  return word;
}

void write_agent_word(base::JsonWriter& json, const model::AgentWord& word) {
  json.key(kAgent).begin_object();
  json.key("modes").begin_object().member("default", to_string(word.modes.otherwise));
  for (const model::Strategy each : model::kStrategies) {
    if (const auto mode = word.modes.named[static_cast<std::size_t>(each)])
      json.member(to_string(each), to_string(*mode));
  }
  if (word.modes.reaction) json.member(model::kReactionMode, to_string(*word.modes.reaction));
  json.end_object();
  if (!word.classes.empty()) {
    json.key("classes").begin_array();
    for (const model::WorkClass& each : word.classes) {
      json.begin_object().member("name", std::string_view(each.name)).member("order", each.order);
      json.member("cpuWeight", each.cpu_weight);
      if (each.memory_low_percent != 0) json.member("memoryLowPercent", each.memory_low_percent);
      json.member("restartCostSeconds", seconds_up(each.restart_cost));
      json.member("checkpointing", each.checkpointing).end_object();
    }
    json.end_array();
  }
  if (!word.business.empty()) json.member("business", std::string_view(word.business));
  if (word.evict != model::EvictSettings{}) {
    json.key("evict").begin_object().member("graceSeconds", seconds_up(word.evict.grace));
    if (word.evict.memory_pressure_percent) json.member("memoryPressurePercent", *word.evict.memory_pressure_percent);
    if (word.evict.disk_free_percent) json.member("diskFreePercent", *word.evict.disk_free_percent);
    if (word.evict.inodes_free_percent) json.member("inodesFreePercent", *word.evict.inodes_free_percent);
    if (!word.evict.yarn_by_class) json.member("yarn", "preempt");
    if (word.evict.per_hour) json.member("perHour", *word.evict.per_hour);
    json.end_object();
  }
  json.end_object();
}

}  // namespace tidemark::policy::settings
