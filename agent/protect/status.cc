#include "agent/protect/status.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "journal/whole_file.h"
#include "model/isolation.h"
#include "model/reason.h"
#include "policy/explain/doctor_text.h"

namespace tidemark::agent {
namespace {

constexpr std::size_t kStatusBytesMax = 64 * 1024;

std::string status_path(const std::string& folder) {
  return folder + "/status.json";
}

bool flag(const Json& json, std::string_view name) {
  const Json* member = json.member(name);
  return member != nullptr && member->is_bool() && member->as_bool();
}
std::int64_t number(const Json& json, std::string_view name) {
  const Json* member = json.member(name);
  return member != nullptr && member->is_int() ? member->as_int() : 0;
}
std::optional<policy::protect::Knob> knob_named(std::string_view name) {
  for (std::size_t index = 0; index < policy::protect::kKnobs; ++index) {
    if (to_string(static_cast<policy::protect::Knob>(index)) == name) return static_cast<policy::protect::Knob>(index);
  }
  return std::nullopt;
}

void read_measures(const Json& json, AgentStatus& out) {
  const Json* measures = json.member("measures");
  if (measures == nullptr || !measures->is_array()) return;
  for (const Json& each : measures->as_array()) {
    out.measures.push_back(
        {std::string(each.text_at("what")), flag(each, "there"), flag(each, "read"), std::string(each.text_at("why"))});
  }
}

}  // namespace

std::string status_json(const AgentStatus& status) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object().member("schema", kStatusSchema).member("pid", status.pid);
  if (status.at) json.member("at", base::format_rfc3339_micro(*status.at));
  json.member("off", status.off)
      .member("latched", status.latched)
      .member("holding", status.holding)
      .member("peerPresent", status.peer_present)
      .member("markGeneration", status.mark_generation)
      .member("by", status.by)
      .member("why", status.why)
      .member("refused", status.refused)
      .member("left", status.left)
      .member("unmet", status.unmet)
      .member("trouble", status.trouble)
      .member("onlyShows", status.only_shows)
      .member("evictLines", status.evict_lines)
      .member("lineEnds", status.line_ends)
      .member("copilots", status.copilots)
      .member("priorityBy", status.priority_by)
      .member("offlineGroup", status.offline_group)
      .member("onlineInBesteffort", status.online_in_besteffort)
      .member("gatesWithoutEffect", status.gates_without_effect)
      .key("strategies")
      .begin_array();
  for (const StrategyStatus& each : status.strategies) {
    json.begin_object()
        .member("name", model::to_string(each.strategy))
        .member("permit", each.permit)
        .member("reason", each.reason)
        .member("inForce", each.in_force)
        .member("says", each.says)
        .end_object();
  }
  json.end_array()
      .key("oom")
      .begin_object()
      .member("refused", status.oom.refused)
      .member("foreign", status.oom.foreign)
      .member("mayLower", status.oom.may_lower)
      .member("trouble", status.oom.trouble)
      .end_object();
  json.member("knobsNotTried", status.trials.not_tried).key("knobs").begin_array();
  for (const policy::explain::KnobFound& each : status.trials.found) {
    json.begin_object()
        .member("knob", to_string(each.knob))
        .member("exists", each.exists)
        .member("accepted", each.accepted)
        .member("effective", each.effective)
        .member("why", each.why)
        .end_object();
  }
  json.end_array().key("measures").begin_array();
  for (const policy::explain::MeasureFound& each : status.measures) {
    json.begin_object()
        .member("what", each.what)
        .member("there", each.there)
        .member("read", each.read)
        .member("why", each.why)
        .end_object();
  }
  json.end_array().end_object();
  return out + "\n";
}

Result<AgentStatus> parse_status(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  if (number(json, "schema") != kStatusSchema) return fail(ErrorKind::kUnsupported, "schema: not of this version");
  AgentStatus out;
  out.at = base::parse_rfc3339(json.text_at("at"));
  out.pid = number(json, "pid");
  out.off = flag(json, "off");
  out.latched = flag(json, "latched");
  out.holding = flag(json, "holding");
  out.peer_present = flag(json, "peerPresent");
  out.mark_generation = number(json, "markGeneration");  // 0 from an older version
  out.by = json.text_at("by");
  out.why = json.text_at("why");
  out.refused = number(json, "refused");
  out.left = number(json, "left");
  out.unmet = number(json, "unmet");
  out.trouble = json.text_at("trouble");
  out.only_shows = json.text_at("onlyShows");  // "" from an older version
  out.evict_lines = json.text_at("evictLines");
  out.line_ends = json.text_at("lineEnds");  // "" from an older version
  out.copilots = json.text_at("copilots");
  out.priority_by = json.text_at("priorityBy");
  out.offline_group = json.text_at("offlineGroup");               // "" from an older version
  out.gates_without_effect = json.text_at("gatesWithoutEffect");  // "" from an older version
  out.online_in_besteffort = json.text_at("onlineInBesteffort");
  const Json* strategies = json.member("strategies");
  if (strategies == nullptr || !strategies->is_array()) return fail(ErrorKind::kInvalid, "strategies: no list");
  for (const Json& each : strategies->as_array()) {
    const auto strategy = model::parse_strategy(each.text_at("name"));
    if (!strategy)
      return fail(ErrorKind::kInvalid, "strategies: no strategy is ", base::in_quotes(each.text_at("name")));
    out.strategies.push_back({*strategy, std::string(each.text_at("permit")), std::string(each.text_at("reason")),
                              number(each, "inForce"), std::string(each.text_at("says"))});
  }
  if (const Json* oom = json.member("oom")) {
    out.oom = {number(*oom, "refused"), number(*oom, "foreign"), flag(*oom, "mayLower"),
               std::string(oom->text_at("trouble"))};
  }
  read_measures(json, out);
  out.trials.not_tried = json.text_at("knobsNotTried");
  const Json* knobs = json.member("knobs");
  if (knobs == nullptr || !knobs->is_array()) return out;
  for (const Json& each : knobs->as_array()) {
    const auto knob = knob_named(each.text_at("knob"));
    if (!knob) continue;  // from a newer version
    out.trials.found.push_back({*knob, flag(each, "exists"), flag(each, "accepted"), flag(each, "effective"),
                                std::string(each.text_at("why"))});
  }
  return out;
}

Result<std::optional<AgentStatus>> read_status(const std::string& folder) {
  TM_TRY(const auto text, journal::read_whole(status_path(folder), kStatusBytesMax));
  if (!text) return std::nullopt;
  auto status = parse_status(*text);
  if (!status) return fail(std::move(status).error().within(status_path(folder)));
  return std::optional(std::move(*status));
}

Result<void> write_status(const std::string& folder, const AgentStatus& status) {
  TM_TRY_VOID(journal::write_whole(status_path(folder), status_json(status), {.mode = 0644}));
  return {};
}

bool awaits(const StrategyStatus& strategy) {
  return strategy.permit == to_string(policy::state::Permit::kKeep) &&
         strategy.reason != model::reason_id(model::Reason::kAgentHolds);
}

std::string_view condition_reason(const AgentStatus& status) {
  if (status.peer_present && !status.off) return "PeerPresent";
  if (!status.trouble.empty()) return model::kUnable;
  if (status.off) return status.latched ? model::kOffLocally : "Off";
  const auto any = [&](policy::state::Permit permit) {
    return std::ranges::any_of(status.strategies,
                               [&](const StrategyStatus& each) { return each.permit == to_string(permit); });
  };
  if (std::ranges::any_of(status.strategies, awaits)) return "Waiting";
  if (any(policy::state::Permit::kTighten) || any(policy::state::Permit::kKeep)) return "Holding";
  return any(policy::state::Permit::kEnforce) ? "Enforcing" : "Observing";
}

std::string ordered_text(std::string_view by, std::string_view why) {
  return by.empty() ? std::string() : base::cat("; ordered by ", by, why.empty() ? "" : ": ", why);
}

std::string condition_message(const AgentStatus& status) {
  std::string out;
  for (const StrategyStatus& each : status.strategies) {
    if (!out.empty()) out += "; ";
    out += base::cat(model::to_string(each.strategy), ": ", each.permit);
    if (each.in_force > 0)
      out += base::cat(" (", policy::explain::in_force_count_text(each.strategy, each.in_force), ")");
  }
  if (status.mark_generation > 0) out += base::cat("; ", model::kIsolationMark, status.mark_generation);
  out += ordered_text(status.by, status.why);
  if (!status.priority_by.empty()) out += base::cat("; CPU priority by ", status.priority_by);
  if (const std::string knobs = policy::explain::knobs_text(status.trials.found); !knobs.empty()) {
    out += base::cat("; kernel files ", knobs);
  }
  if (!status.evict_lines.empty()) out += base::cat("; lines of eviction: ", status.evict_lines);
  if (!status.line_ends.empty()) out += base::cat("; raised lines that ended: ", status.line_ends);
  if (!status.only_shows.empty()) out += base::cat("; only shown: ", status.only_shows);
  if (!status.copilots.empty()) out += base::cat("; ", status.copilots);
  if (!status.trouble.empty()) out += base::cat("; nothing can be written: ", status.trouble);
  if (status.refused > 0) out += base::cat("; refused by the kernel: ", status.refused);
  if (status.left > 0) out += base::cat("; left to another writer: ", status.left);
  if (status.unmet > 0) out += base::cat("; wanted, and met by no file here: ", status.unmet);
  return out;
}

}  // namespace tidemark::agent
