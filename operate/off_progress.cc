#include "operate/off_progress.h"

#include <algorithm>

#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/reason.h"
#include "operate/get.h"

namespace tidemark::operate {
namespace {

using base::cat;

constexpr std::int64_t kProgressSchema = 1;
// A ConfigMap has at most 1 MiB.
constexpr std::size_t kEndedKept = 50;
constexpr base::Duration kEndedKeptFor = std::chrono::hours(24 * 7);
constexpr base::Duration kKilledAfter = std::chrono::hours(1);  // without an update: its command was killed
constexpr std::array<std::string_view, 4> kAnswers{"noAgent", "unconfirmed", "inForce", "nothing"};

Json count(std::size_t value) {
  return Json(static_cast<std::int64_t>(value));
}

// Sizes as they are named in the JSON.
template <class Progress, class Take>
void each_count(Progress& progress, const Take& take) {
  take("nodes", progress.nodes);
  take("marked", progress.marked);
  take("offersAtZero", progress.offers_at_zero);
  take("podsLeft", progress.pods_left);
  take("nodesWithYarn", progress.yarn_left);
  take("filesRestored", progress.files_restored);
  take("silent", progress.silent);
  take("evicted", progress.evicted);
  take("refused", progress.refused);
  take("done", progress.done);
}

std::int64_t number(const Json& json, std::string_view key) {
  const Json* member = json.member(key);
  return member == nullptr ? 0 : std::max<std::int64_t>(member->get_int().value_or(0), 0);
}

bool flag(const Json& json, std::string_view key) {
  const Json* member = json.member(key);
  return member != nullptr && member->is_bool() && member->as_bool();
}

std::vector<std::string> texts(const Json* list) {
  std::vector<std::string> out;
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& each : list->as_array()) {
    if (each.is_string()) out.push_back(each.as_string());
  }
  return out;
}

Json options_json(const OffOptions& options) {
  return Json::object({{"graceSeconds", Json(std::chrono::ceil<std::chrono::seconds>(options.grace).count())},
                       {"budgetPerMinute", options.per_minute == 0 ? Json() : Json(options.per_minute)},
                       {"atOnce", Json(options.at_once)},
                       {"until", options.until ? Json(base::format_rfc3339_micro(*options.until)) : Json()}});
}

// nullopt: without a grace or with an unreadable end they say nothing.
std::optional<OffOptions> read_options(const Json& json) {
  OffOptions options;
  options.grace = std::chrono::seconds(number(json, "graceSeconds"));
  options.per_minute = number(json, "budgetPerMinute");
  options.at_once = flag(json, "atOnce");
  if (const Json* until = json.member("until"); until != nullptr && !until->is_null()) {
    const auto at = base::parse_rfc3339(json.text_at("until"));
    if (!at) return std::nullopt;
    options.until = *at;
  }
  return options.grace > base::Duration(0) ? std::optional(options) : std::nullopt;
}

Json node_json(const NodeProof& node) {
  Json out = Json::object({{"node", Json(node.name)},
                           {"offers", Json(node.offers)},
                           {"silent", Json(node.silent)},
                           {"pods", count(node.pods)},
                           {"staticPods", count(node.static_pods)},
                           {"outlivedPods", count(node.outlived)},
                           {"yarnCpuMilli", Json(node.yarn.cpu.value)},
                           {"yarnMemoryBytes", Json(node.yarn.memory.value)},
                           {"agent", Json(kAnswers.at(static_cast<std::size_t>(node.agent)))}});
  if (node.yarn_unreadable) out["yarnUnreadable"] = Json(true);
  if (!node.not_marked.empty()) out["notMarked"] = Json(node.not_marked);
  if (!node.agent_says.empty()) out["agentSays"] = Json(node.agent_says);
  if (!node.refused.empty()) {
    out["refused"] = Json::array();
    for (const auto& each : node.refused) out["refused"].as_array().push_back(Json(each));
  }
  return out;
}

NodeProof read_node(const Json& json) {
  NodeProof node;
  node.name = json.text_at("node");
  node.not_marked = json.text_at("notMarked");
  node.offers = flag(json, "offers");
  node.silent = flag(json, "silent");
  node.pods = static_cast<std::size_t>(number(json, "pods"));
  node.static_pods = static_cast<std::size_t>(number(json, "staticPods"));
  node.yarn = {model::CpuMilli{number(json, "yarnCpuMilli")}, model::MemoryBytes{number(json, "yarnMemoryBytes")}};
  node.yarn_unreadable = flag(json, "yarnUnreadable");
  node.outlived = static_cast<std::size_t>(number(json, "outlivedPods"));
  const auto answer = std::ranges::find(kAnswers, json.text_at("agent"));
  if (answer != kAnswers.end()) node.agent = static_cast<AgentAnswer>(answer - kAnswers.begin());
  node.agent_says = json.text_at("agentSays");
  node.refused = texts(json.member("refused"));
  return node;
}

// Scopes have characters that a key of a ConfigMap may not have.
std::string key_of(std::string_view scope) {
  std::string key;
  for (const char c : scope) {
    const bool good =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    key += good ? c : '_';
  }
  constexpr std::size_t kKeyMax = 200;  // of 253; two orders for many nodes may share a key: the later one is shown
  return key.substr(0, kKeyMax) + ".json";
}

}  // namespace

std::string scope_text(const OrderOptions& options) {
  switch (options.scope) {
    case OrderScope::kNode:
      return cat("node ", base::join(options.nodes, " "));
    case OrderScope::kPool:
      return cat("pool ", options.pool);
    case OrderScope::kCluster:
      break;
  }
  return "cluster";
}

Json progress_json(const OffProgress& progress) {
  Json out = Json::object({{"schema", Json(kProgressSchema)},
                           {"scope", Json(progress.scope)},
                           {"by", Json(progress.by)},
                           {"why", Json(progress.why)},
                           {"began", Json(base::format_rfc3339_micro(progress.began))},
                           {"updated", Json(base::format_rfc3339_micro(progress.updated))},
                           {"running", Json(progress.running)},
                           {"finished", Json(progress.finished())}});
  if (progress.options) out["options"] = options_json(*progress.options);
  Json counts = Json::object();
  each_count(progress, [&](std::string_view name, std::size_t value) { counts[name] = count(value); });
  out["counts"] = std::move(counts);
  out["nodesLeft"] = Json::array();
  for (const NodeProof& node : progress.nodes_left) out["nodesLeft"].as_array().push_back(node_json(node));
  out["withoutAgent"] = Json::array();
  for (const std::string& node : progress.without_agent) out["withoutAgent"].as_array().push_back(Json(node));
  if (!progress.problem.empty()) out["problem"] = Json(progress.problem);
  return out;
}

Result<OffProgress> parse_progress(const Json& json) {
  if (number(json, "schema") != kProgressSchema) {
    return fail(ErrorKind::kUnsupported, "schema ", number(json, "schema"), "; this version reads ", kProgressSchema);
  }
  OffProgress progress;
  progress.scope = json.text_at("scope");
  progress.by = json.text_at("by");
  progress.why = json.text_at("why");
  if (const Json* options = json.member("options")) progress.options = read_options(*options);
  const auto began = base::parse_rfc3339(json.text_at("began"));
  const auto updated = base::parse_rfc3339(json.text_at("updated"));
  const Json* counts = json.member("counts");
  if (!began || !updated || counts == nullptr) return fail(ErrorKind::kInvalid, "began, updated or counts is missing");
  progress.began = *began;
  progress.updated = *updated;
  progress.running = flag(json, "running");
  each_count(progress, [&](std::string_view name, std::size_t& value) {
    value = static_cast<std::size_t>(number(*counts, name));
  });
  if (const Json* nodes = json.member("nodesLeft"); nodes != nullptr && nodes->is_array()) {
    for (const Json& node : nodes->as_array()) progress.nodes_left.push_back(read_node(node));
  }
  progress.without_agent = texts(json.member("withoutAgent"));
  progress.problem = json.text_at("problem");
  return progress;
}

std::vector<std::string> outdated_scopes(const std::vector<OffProgress>& all, base::WallTime now) {
  std::vector<std::string> out;
  std::size_t ended = 0;
  for (const OffProgress& each : all) {
    const base::Duration age = now - each.updated;
    if (each.running && age < kKilledAfter) continue;
    if (++ended > kEndedKept || age > kEndedKeptFor) out.push_back(each.scope);
  }
  return out;
}

net::Task<Result<void>> store_progress(kube::Client& client, std::string config_namespace, const OffProgress& progress,
                                       base::Duration limit, std::vector<std::string> forget) {
  OffProgress stored = progress;
  if (stored.nodes_left.size() > kNodesLeftStored) stored.nodes_left.resize(kNodesLeftStored);
  if (stored.without_agent.size() > kNodesLeftStored) stored.without_agent.resize(kNodesLeftStored);
  const Json entry = Json::object({{key_of(progress.scope), Json(progress_json(stored).dump())}});
  Json data = Json::object();
  for (const std::string& scope : forget) data[key_of(scope)] = Json(nullptr);
  for (const auto& [key, text] : entry.as_object()) data[key] = text;
  Json body = Json::object({{"data", std::move(data)}});
  kube::WriteOptions write;
  write.ns = config_namespace;
  write.note.reason = model::reason_id(model::Reason::kWriteAsked);
  write.answer_is_read = false;
  auto done =
      co_await client.patch(kube::kConfigMaps, kOffProgressName, kube::PatchType::kMerge, body.dump(), write, limit);
  if (!done && done.error().kind == ErrorKind::kNotFound) {
    body = Json::object({{"metadata", Json::object({{"name", Json(kOffProgressName)}})}, {"data", entry}});
    done = co_await client.create(kube::kConfigMaps, body.dump(), write, "", limit);
  }
  if (!done) co_return std::unexpected(std::move(done).error().within("storing the progress"));
  co_return Result<void>();
}

std::vector<OffProgress> progress_in(const kube::ConfigMap& map) {
  std::vector<OffProgress> all;
  for (const auto& [key, text] : map.data) {
    const auto json = Json::parse(text.view());
    if (!json) continue;
    if (auto progress = parse_progress(*json)) all.push_back(std::move(*progress));
  }
  std::ranges::sort(all, std::greater<>(), &OffProgress::began);
  return all;
}

net::Task<Result<std::vector<OffProgress>>> read_progress(kube::Client& client, std::string config_namespace,
                                                          base::Duration limit) {
  kube::Interner interner;
  TM_CO_TRY(const auto map,
            co_await config_map(client, std::move(config_namespace), std::string(kOffProgressName), limit, interner));
  co_return map ? progress_in(*map) : std::vector<OffProgress>();
}

}  // namespace tidemark::operate
