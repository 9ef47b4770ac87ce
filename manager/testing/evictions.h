// A cluster in memory whose tasks end, under simulated time: evicted, finished, or told of by agents.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "manager/evictions/budget_controller.h"
#include "manager/testing/cluster.h"
#include "model/ended_tasks.h"
#include "model/names.h"
#include "policy/evict/budget/stored.h"

namespace tidemark::manager::testing {

inline constexpr base::Duration kStoredWithin = BudgetController::kJobsPause + 10s;
inline constexpr std::string_view kPods = "/api/v1/namespaces/jobs/pods";

class EvictingCluster : public InMemoryCluster {
 protected:
  void SetUp() override {
    InMemoryCluster::SetUp();
    must("POST", "/api/v1/namespaces", name_only("jobs"));
    for (const char* name : {"n1", "n2"}) {
      node(name);
      metric(name, "4");
    }
  }
  void tidemark(std::string_view more = "") {
    Json map = name_only("tidemark-config");
    map["data"] =
        Json::object({{"config.yaml",
                       Json(base::cat("{schema: 1, mode: enforce, rollout: {pace: at-once}, evictions: {perJobHour: 3, "
                                      "breaker: {atLeast: 4, ratePercent: 10, coolDown: 10m}}",
                                      more, "}"))}});
    must("POST", kConfigPath, map);
  }
  void pod(std::string_view name, std::string_view on = "n1", std::string_view cores = "2000",
           std::string_view job = "nightly") {
    const Json amounts = Json::object({{kBatchCpu, Json(cores)}, {"kubernetes.io/batch-memory", "1Gi"}});
    Json object = name_only(name);
    object["metadata"]["labels"] = Json::object({{"koordinator.sh/qosClass", "BE"},
                                                 {"koordinator.sh/priority-class", "koord-batch"},
                                                 {"tidemark.io/job", Json(job)}});
    object["spec"] = Json::object(
        {{"nodeName", Json(on)},
         {"containers",
          Json::array({Json::object({{"name", "c"},
                                     {"image", "i"},
                                     {"resources", Json::object({{"requests", amounts}, {"limits", amounts}})}})})}});
    must("POST", kPods, object);
    status(name, R"({"phase":"Running"})");
  }
  void status(std::string_view name, std::string_view text) {
    must("PATCH", base::cat(kPods, "/", name, "/status"), Json::object({{"status", *Json::parse(text)}}), kMerge);
  }
  void finishes(std::string_view name) { status(name, R"({"phase":"Succeeded"})"); }
  void kubelet_evicts(std::string_view name) { status(name, R"({"phase":"Failed","reason":"Evicted"})"); }
  // As the eviction API leaves it, until its kubelet is done with it.
  void api_evicts(std::string_view name) {
    status(name, R"({"conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}]})");
  }
  std::optional<Json> budgets() {
    const auto found = call("GET", base::cat(kConfigPath, "/", model::kBudgetsName), nullptr);
    if (found.status != 200) return std::nullopt;
    return *Json::parse(found.body);
  }
  policy::evict::BudgetState stored() {
    const auto map = budgets();
    if (!map) return {};
    return *policy::evict::decode_budgets(map->text_at("data", "state.json"));
  }
  policy::evict::Ended day(std::string_view pool = "default") {
    const auto map = budgets();
    if (!map) return {};
    return policy::evict::of_day(*policy::evict::decode_counts(map->text_at("data", "counts.json")), pool,
                                 clock.wall());
  }
  std::string condition(std::string_view name) {
    const Json object = read_node(name);
    const Json* all = object.at("status", "conditions");
    if (all == nullptr) return "";
    for (const Json& each : all->as_array()) {
      if (each.text_at("type") == model::kStateCondition) {
        return base::cat(each.text_at("status"), " ", each.text_at("reason"));
      }
    }
    return "";
  }
  double counted(Replica& replica, std::string_view reason, std::string_view work_class = "unnamed") {
    return replica.metric(
        base::cat("tidemark_tasks_ended_total{class=\"", work_class, "\",pool=\"default\",reason=\"", reason, "\"}"));
  }
  // As the agent of the node tells of YARN's containers: all that it told so far, and this.
  void tells(std::string_view name, std::int64_t evicted, std::int64_t finished = 0, std::string_view job = "") {
    auto& ends = told_[std::string(name)];
    ends.push_back({clock.wall(), "spark", std::string(job), evicted, finished});
    must("PATCH", base::cat("/api/v1/nodes/", name),
         Json::object(
             {{"metadata", Json::object({{"annotations", Json::object({{model::kEndedTasksAnnotation,
                                                                        Json(model::format_ended_tasks(ends))}})}})}}),
         kMerge);
  }
  std::map<std::string, std::vector<model::EndedTasks>> told_;

  void spike() {
    for (int i = 0; i < 4; ++i) {
      pod(base::cat("victim-", i), "n2", "1000", base::cat("job-", i));
      kubelet_evicts(base::cat("victim-", i));
    }
    run_for(6s);
  }
};

}  // namespace tidemark::manager::testing
