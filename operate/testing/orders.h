// Orders on an API server in memory, with no manager there.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "operate/order.h"
#include "operate/testing/api_in_memory.h"

namespace tidemark::operate::testing {

inline constexpr std::string_view kMaps = "/api/v1/namespaces/koordinator-system/configmaps";

class Orders : public ApiInMemory {
 protected:
  // A node that sells 8 cores and 80 bytes.
  void node(const std::string& name, std::string_view meta = R"("labels":{"zone":"a"},"annotations":{"x":"y"})") {
    call("POST", "/api/v1/nodes",
         base::cat(R"({"metadata":{"name":")", name, R"(")", meta.empty() ? "" : ",", meta, "}}"));
    const std::string amounts =
        R"({"cpu":"32","memory":"128Gi","kubernetes.io/batch-cpu":"8000","kubernetes.io/batch-memory":"80"})";
    call("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         base::cat(R"({"status":{"capacity":)", amounts, R"(,"allocatable":)", amounts, "}}"));
  }
  Json read(const std::string& name) { return call("GET", "/api/v1/nodes/" + name); }
  // What an agent appends to the strategies in its condition; "" if the node has no state mark.
  std::string mark_said(const std::string& name) {
    const auto detail = Json::parse(read(name).text_at("metadata", "annotations", "tidemark.io/state-detail"));
    return detail ? base::cat("; mark ", detail->at("generation")->get_int().value_or(0)) : "";
  }
  std::string label(const std::string& name) {
    return std::string(read(name).text_at("metadata", "labels", "tidemark.io/state"));
  }
  std::string batch_cpu(const std::string& name) {
    return std::string(read(name).text_at("status", "allocatable", "kubernetes.io/batch-cpu"));
  }

  static OrderOptions order(policy::state::Wish wish, std::vector<std::string> nodes = {}) {
    OrderOptions options;
    options.scope = nodes.empty() ? OrderScope::kCluster : OrderScope::kNode;
    options.nodes = std::move(nodes);
    options.command.wish = wish;
    options.command.by = "ann";
    options.command.why = "a test";
    return options;
  }
  Result<PoolsForOrder> pools_for(const OrderOptions& options) {
    return net::testing::run_task(loop, clock, pools_for_order(client, options));
  }
  Result<OrderReport> give(OrderOptions options) {
    if (options.scope == OrderScope::kPool) {
      auto pools = pools_for(options);
      if (!pools) return std::unexpected(pools.error());
      options.pools = std::move(pools->config);
    }
    return net::testing::run_task(loop, clock, give_order(loop, client, std::move(options), nullptr));
  }
  static OrderOptions pool_order(policy::state::Wish wish, std::string pool) {
    auto options = order(wish);
    options.scope = OrderScope::kPool;
    options.pool = std::move(pool);
    return options;
  }
  // With one pool besides the one that has all other nodes: those with its name as the label `pool`, or another one.
  static std::string config_with(std::string_view pool, std::string_view label = "") {
    return base::cat("schema: 1\nmode: enforce\npools:\n- name: ", pool,
                     "\n  nodeSelector: {matchLabels: {pool: ", label.empty() ? pool : label, "}}\n");
  }
  void live(const std::string& config) {
    const std::string data = Json::object({{"data", Json::object({{"config.yaml", Json(config)}})}}).dump();
    if (ask("PATCH", base::cat(kMaps, "/tidemark-config"), data).status == 404) {
      call("POST", std::string(kMaps), base::cat(R"({"metadata":{"name":"tidemark-config"},)", data.substr(1)));
    }
  }
  static std::size_t count(const OrderReport& report, OrderOutcome outcome) {
    return static_cast<std::size_t>(std::ranges::count(report.nodes, outcome, &OrderedNode::outcome));
  }
};

}  // namespace tidemark::operate::testing
