#include "yarn_copilot/container_list.h"

#include <algorithm>
#include <utility>

namespace tidemark::yarn_copilot {

ContainerList::ContainerList(net::EventLoop& loop, hadoop::NodeManager& manager, base::Log log, base::Registry& metrics,
                             ContainerListConfig config)
    : loop_(loop),
      manager_(manager),
      log_(std::move(log)),
      config_(config),
      calls_(metrics.counter("tidemark_yarn_copilot_node_manager_calls_total", "Lists asked of the NodeManager.")),
      failed_(metrics.counter("tidemark_yarn_copilot_node_manager_failed_total", "Of those: not answered.")),
      up_(metrics.gauge("tidemark_yarn_copilot_node_manager_up", "1: it answered the last question.")),
      containers_(metrics.gauge("tidemark_yarn_copilot_containers", "Containers that have not ended.")),
      answer_(loop),
      scope_(loop) {}

net::Task<Result<Listing>> ContainerList::get() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (!asking_ && answered_ && now - *answered_ <= config_.age_max) co_return *last_;
  if (!asking_) {
    asking_ = true;
    answer_.clear();
    scope_.spawn(ask());
  }
  co_await answer_.wait();
  co_return *last_;
}

net::Task<void> ContainerList::ask() {
  calls_.add();
  auto listed = co_await manager_.containers(config_.limit);
  const bool was_up = is_up();
  if (listed) {
    containers_.set(static_cast<double>(std::ranges::count_if(
        listed->containers, [](const hadoop::NodeContainer& each) { return !hadoop::has_ended(each.state); })));
    if (!was_up) log_.info("the NodeManager answers", {{"containers", listed->containers.size()}});
    for (const Error& each : listed->refused) log_.warn("a container cannot be read", {{"error", each}});
    remembered_ = std::make_shared<const hadoop::NodeContainers>(*std::move(listed));
    last_ = remembered_;
  } else {
    failed_.add();
    if (was_up || !last_) log_.warn("the NodeManager does not answer", {{"error", listed.error()}});
    last_ = fail(std::move(listed).error());
  }
  up_.set(is_up() ? 1 : 0);
  answered_ = loop_.clock().monotonic();
  asking_ = false;
  answer_.set();
}

}  // namespace tidemark::yarn_copilot
