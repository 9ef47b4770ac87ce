#include "gateway/decision.h"

#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "policy/route/names.h"
#include "policy/route/signals_text.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr std::int64_t kRouteSchema = 1;

Json amounts_json(const model::Resources& amounts) {
  return Json::object({{"cpu", amounts.cpu.value}, {"memory", amounts.memory.value}});
}

std::int64_t int_at(const Json& json, std::string_view key) {
  const Json* found = json.at(key);
  return found == nullptr ? 0 : found->get_int().value_or(0);
}

bool bool_at(const Json& json, std::string_view key) {
  const Json* found = json.at(key);
  return found != nullptr && found->get_bool().value_or(false);
}

std::optional<std::int64_t> optional_at(const Json& json, std::string_view key) {
  const Json* found = json.at(key);
  return found == nullptr ? std::nullopt : found->get_int();
}

model::Resources amounts_at(const Json& json, std::string_view key) {
  const Json* found = json.at(key);
  if (found == nullptr) return {};
  return {{int_at(*found, "cpu")}, {int_at(*found, "memory")}};
}

const Json::Array& array_at(const Json& json, std::string_view key) {
  static const Json::Array kEmpty;
  const Json* found = json.at(key);
  return found != nullptr && found->is_array() ? found->as_array() : kEmpty;
}

Json capacity_json(const BatchCapacity& capacity) {
  Json nodes = Json::array();
  for (const OwnedCapacity& each : capacity.nodes) {
    nodes.as_array().push_back(
        Json::object({{"owner", each.owner}, {"total", amounts_json(each.total)}, {"idle", amounts_json(each.idle)}}));
  }
  Json claims = Json::array();
  for (const CapacityClaim& each : capacity.claims) {
    claims.as_array().push_back(Json::object({{"business", each.business}, {"batch", amounts_json(each.batch)}}));
  }
  return Json::object({{"nodes", std::move(nodes)}, {"claims", std::move(claims)}});
}

BatchCapacity capacity_of(const Json& json) {
  BatchCapacity out;
  for (const Json& each : array_at(json, "nodes")) {
    out.nodes.push_back({std::string(each.text_at("owner")), amounts_at(each, "total"), amounts_at(each, "idle")});
  }
  for (const Json& each : array_at(json, "claims")) {
    out.claims.push_back({std::string(each.text_at("business")), amounts_at(each, "batch")});
  }
  return out;
}

Json quota_json(const QuotaRoom& quota) {
  Json out = Json::object();
  if (quota.batch_cpu) out["cpu"] = Json(quota.batch_cpu->value);
  if (quota.batch_memory) out["memory"] = Json(quota.batch_memory->value);
  if (quota.pods) out["pods"] = Json(*quota.pods);
  return out;
}

QuotaRoom quota_of(const Json& json) {
  QuotaRoom out;
  if (const auto cpu = optional_at(json, "cpu")) out.batch_cpu = model::CpuMilli{*cpu};
  if (const auto memory = optional_at(json, "memory")) out.batch_memory = model::MemoryBytes{*memory};
  out.pods = optional_at(json, "pods");
  return out;
}

Json queue_json(const YarnQueue& queue) {
  Json out = Json::object({{"path", queue.path},
                           {"pending", queue.pending},
                           {"pendingContainers", queue.pending_containers},
                           {"usedPercent", queue.used_percent},
                           {"waits", queue.waits}});
  if (queue.p95_bound_s) out["p95BoundS"] = Json(*queue.p95_bound_s);
  return out;
}

YarnQueue queue_of(const Json& json) {
  return {.path = std::string(json.text_at("path")),
          .pending = int_at(json, "pending"),
          .pending_containers = int_at(json, "pendingContainers"),
          .used_percent = int_at(json, "usedPercent"),
          .waits = int_at(json, "waits"),
          .p95_bound_s = optional_at(json, "p95BoundS")};
}

Json signals_json(const RouteSignals& signals) {
  Json out = Json::object({{"waiting", signals.kubernetes_waiting},
                           {"noMoreKubernetes", signals.no_more_kubernetes},
                           {"need", amounts_json(signals.need.batch)},
                           {"pods", signals.need.pods},
                           {"waited", std::int64_t{signals.waited.count()}}});
  if (signals.capacity) out["capacity"] = capacity_json(*signals.capacity);
  if (signals.quota) out["quota"] = quota_json(*signals.quota);
  if (signals.queue) out["queue"] = queue_json(*signals.queue);
  return out;
}

RouteSignals signals_of(const Json& json) {
  RouteSignals out;
  out.kubernetes_waiting = int_at(json, "waiting");
  out.no_more_kubernetes = bool_at(json, "noMoreKubernetes");
  out.need = {amounts_at(json, "need"), int_at(json, "pods")};
  out.waited = base::Duration(int_at(json, "waited"));
  if (const Json* capacity = json.at("capacity")) out.capacity = capacity_of(*capacity);
  if (const Json* quota = json.at("quota")) out.quota = quota_of(*quota);
  if (const Json* queue = json.at("queue")) out.queue = queue_of(*queue);
  return out;
}

Json side_json(const std::optional<Side>& side) {
  return side ? Json(name_of(*side)) : Json();
}

}  // namespace

RulesRevision revision_of(const RouteRules& rules) {
  Json labels = Json::array();
  for (const SideRule& rule : rules.rules) labels.as_array().emplace_back(rule.label);
  RulesRevision out;
  out.text = Json::object({{"routes", routes_json(rules)}, {"labels", std::move(labels)}}).dump();
  out.hash = base::TextHash().add(out.text).hex();
  return out;
}

std::string revision_key(std::string_view hash) {
  return cat("routes ", hash);
}

Result<RouteRules> rules_of_revision(std::string_view text, const ZoneOf& zone_of) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* routes = json.at("routes");
  if (routes == nullptr) return fail(ErrorKind::kInvalid, "a stored revision without rules");
  TM_TRY(RouteRules rules, parse_routes(routes->dump(), {}, zone_of));
  const auto& labels = array_at(json, "labels");
  for (std::size_t at = 0; at < rules.rules.size() && at < labels.size(); ++at) {
    rules.rules[at].label = labels[at].get_string().value_or("");
  }
  return rules;
}

std::string encode_inputs(const RouteInput& input, std::string_view rules_hash) {
  const Json json = Json::object({{"kubernetes", input.possible[0]},
                                  {"yarn", input.possible[1]},
                                  {"pin", side_json(input.pin)},
                                  {"left", side_json(input.left)},
                                  {"business", input.business},
                                  {"queue", input.queue},
                                  {"name", input.name},
                                  {"now", std::int64_t{input.now.since_epoch.count()}},
                                  {"draw", input.draw},
                                  {"comparisonDiffers", input.comparison_differs},
                                  {"signals", signals_json(input.signals)}});
  return Json::object({{"schema", kRouteSchema}, {"rules", rules_hash}, {"input", json}}).dump();
}

Result<StoredInputs> decode_inputs(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  if (int_at(json, "schema") != kRouteSchema) {
    return fail(ErrorKind::kUnsupported, "the inputs have schema ", int_at(json, "schema"), ", and this program reads ",
                kRouteSchema);
  }
  const Json* stored = json.at("input");
  const Json* signals = stored == nullptr ? nullptr : stored->at("signals");
  if (signals == nullptr) return fail(ErrorKind::kInvalid, "inputs without signals");
  StoredInputs out;
  out.rules = json.text_at("rules");
  RouteInput& input = out.input;
  input.possible = {bool_at(*stored, "kubernetes"), bool_at(*stored, "yarn")};
  input.pin = side_of(stored->text_at("pin"));
  input.left = side_of(stored->text_at("left"));
  input.business = stored->text_at("business");
  input.queue = stored->text_at("queue");
  input.name = stored->text_at("name");
  input.now = {base::Duration(int_at(*stored, "now"))};
  input.draw = int_at(*stored, "draw");
  input.comparison_differs = bool_at(*stored, "comparisonDiffers");
  input.signals = signals_of(*signals);
  return out;
}

Result<Replayed> replay(const Attempt& attempt, std::string_view rules_text, const ZoneOf& zone_of) {
  TM_TRY(const StoredInputs stored, decode_inputs(attempt.inputs));
  TM_TRY(const RouteRules rules, rules_of_revision(rules_text, zone_of));
  Replayed out{.before = {attempt.side, attempt.reason, attempt.rule},
               .now = choose_side(stored.input, rules),
               .signals = text_of_signals(stored.input)};
  out.same = out.before == out.now;
  return out;
}

}  // namespace tidemark::gateway
