#include "console/order_documents.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "console/rows.h"
#include "operate/order_json.h"
#include "policy/explain/state_text.h"

namespace tidemark::console {
namespace {

constexpr std::int64_t kOrderSchema = 1;
constexpr std::array<std::string_view, 4> kPhases = {"writing", "evicting", "done", "failed"};

std::int64_t since_1970(base::WallTime at) {
  return std::chrono::floor<std::chrono::seconds>(at.since_epoch).count();
}

Json count(std::size_t value) {
  return Json(static_cast<std::int64_t>(value));
}

// The offline work on the nodes of an order.
struct OfflineWork {
  std::size_t nodes = 0, pods = 0, yarn_nodes = 0;
  model::Resources pods_request, yarn, offered;
  std::int64_t core_milli_seconds = 0;  // since its pods started: lost if they do not checkpoint
};

void add(OfflineWork& work, const View& view, const NodeRow& row, base::WallTime now) {
  model::Resources pods;
  for (const Task* task : view.tasks_on(row.name)) {
    if (!task->sold()) continue;
    ++work.pods;
    pods += task->request;
    if (task->started_s > 0) work.core_milli_seconds += task->request.cpu.value * (since_1970(now) - task->started_s);
  }
  work.pods_request += pods;
  work.offered += {model::CpuMilli{row.cpu.offered}, model::MemoryBytes{row.memory.offered}};
  const model::Resources yarn = {model::CpuMilli{row.cpu.sold.value_or(pods.cpu.value) - pods.cpu.value},
                                 model::MemoryBytes{row.memory.sold.value_or(pods.memory.value) - pods.memory.value}};
  work.yarn += yarn;
  work.yarn_nodes += yarn == model::Resources() ? 0 : 1;
}

Json amounts_json(const model::Resources& amounts) {
  return Json::object({{"cpu", Json(amounts.cpu.value)}, {"memory", Json(amounts.memory.value)}});
}

bool concerns(operate::OrderOutcome outcome) {
  return outcome == operate::OrderOutcome::kWritten || outcome == operate::OrderOutcome::kAlready;
}

}  // namespace

std::string preview_document(View& view, const operate::OrderReport& report, const operate::OrderOptions& order,
                             base::WallTime now) {
  OfflineWork work;
  std::map<std::pair<std::string, std::string>, std::size_t> states;  // state and its order → nodes
  for (const operate::OrderedNode& each : report.nodes) {
    if (!concerns(each.outcome)) continue;
    ++work.nodes;
    const auto row = view.rows().find(each.name);
    if (row != view.rows().end()) add(work, view, row->second, now);
    const kube::Node* node = view.node(each.name);
    if (node == nullptr) continue;
    const auto state = effective_state(*node, view.settings().pool_of(*node), now);
    if (!state.order) continue;
    ++states[{policy::explain::state_words(state), policy::explain::decided_words(state)}];
  }
  const bool known = view.known().tasks;
  Json out = Json::object({{"schema", kOrderSchema}});
  out["report"] = operate::render_json(report, order, operate::NodesShown::kProblems);
  out["work"] = Json::object({{"nodes", count(work.nodes)},
                              {"pods", known ? count(work.pods) : Json()},
                              {"podsRequest", known ? amounts_json(work.pods_request) : Json()},
                              {"coreSeconds", known ? Json(work.core_milli_seconds / 1000) : Json()},
                              {"yarn", amounts_json(work.yarn)},
                              {"yarnNodes", count(work.yarn_nodes)},
                              {"offered", amounts_json(work.offered)}});
  out["orders"] = Json::array();
  for (const auto& [state, nodes] : states) {
    out["orders"].as_array().push_back(
        Json::object({{"state", Json(state.first)}, {"text", Json(state.second)}, {"nodes", count(nodes)}}));
  }
  return out.dump();
}

Json order_json(const OrderState& state) {
  const policy::state::StateCommand& command = state.order.command;
  Json out = Json::object({{"id", Json(state.id)},
                           {"verb", Json(to_string(command.wish))},
                           {"scope", Json(operate::scope_text(state.order))},
                           {"by", Json(command.by)},
                           {"reason", Json(command.why)},
                           {"evict", Json(command.evict)},
                           {"at", Json(since_1970(state.at))},
                           {"phase", Json(kPhases.at(static_cast<std::size_t>(state.phase)))},
                           {"nodes", count(state.marked.nodes)},
                           {"marked", count(state.marked.done - state.marked.failed)},
                           {"failed", count(state.marked.failed)}});
  out["report"] =
      state.report ? operate::render_json(*state.report, state.order, operate::NodesShown::kProblems) : Json();
  out["eviction"] = state.eviction ? operate::progress_json(*state.eviction) : Json();
  out["error"] = state.error ? Json(state.error->message) : Json();
  return out;
}

Json evictions_json(const std::vector<operate::OffProgress>& evictions) {
  Json list = Json::array();
  for (const auto& each : evictions) list.as_array().push_back(operate::progress_json(each));
  return list;
}

}  // namespace tidemark::console
