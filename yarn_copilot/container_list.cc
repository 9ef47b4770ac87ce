#include "yarn_copilot/container_list.h"

#include <algorithm>
#include <utility>

namespace tidemark::yarn_copilot {

ContainerList::ContainerList(net::EventLoop& loop, hadoop::NodeManager& manager, base::Log log, base::Registry& metrics,
                             ContainerListConfig config)
    : manager_(manager),
      log_(std::move(log)),
      config_(config),
      calls_(metrics.counter("tidemark_yarn_copilot_node_manager_calls_total",
                             "Container lists requested from the NodeManager.")),
      failed_(metrics.counter("tidemark_yarn_copilot_node_manager_failed_total", "Requests without an answer.")),
      shut_out_(
          metrics.counter("tidemark_yarn_copilot_node_manager_shut_out_total",
                          "Lists refused by the NodeManager: authentication required (401) or access denied (403).")),
      up_(metrics.gauge("tidemark_yarn_copilot_node_manager_up", "1: it answered the last request.")),
      containers_(metrics.gauge("tidemark_yarn_copilot_containers", "Containers that have not ended.")),
      shared_(loop, config.age_max, [this] { return ask(); }) {}

net::Task<Result<Listing>> ContainerList::ask() {
  calls_.add();
  auto listed = co_await manager_.containers(config_.limit);
  const bool was_up = is_up();
  up_.set(listed ? 1 : 0);
  if (!listed) {
    failed_.add();
    if (hadoop::is_shut_out(listed.error())) shut_out_.add();
    if (was_up || !shared_.last()) log_.warn("the NodeManager does not answer", {{"error", listed.error()}});
    co_return fail(std::move(listed).error());
  }
  containers_.set(static_cast<double>(std::ranges::count_if(
      listed->containers, [](const hadoop::NodeContainer& each) { return !hadoop::has_ended(each.state); })));
  if (!was_up) log_.info("the NodeManager answers", {{"containers", listed->containers.size()}});
  for (const Error& each : listed->refused) log_.warn("a container cannot be read", {{"error", each}});
  remembered_ = std::make_shared<const hadoop::NodeContainers>(*std::move(listed));
  co_return remembered_;
}

}  // namespace tidemark::yarn_copilot
