// The NodeManager's list of containers of this node, requested once for many callers (shared_answer).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "hadoop/node_manager.h"
#include "net/loop.h"
#include "yarn_copilot/shared_answer.h"

namespace tidemark::yarn_copilot {

// Shared and immutable.
using Listing = std::shared_ptr<const hadoop::NodeContainers>;

struct ContainerListConfig {
  base::Duration age_max = std::chrono::seconds(1);
  base::Duration limit = std::chrono::seconds(3);  // of a request: a NodeManager may hang
};

class ContainerList {
 public:
  // `manager` must outlive the list.
  ContainerList(net::EventLoop& loop, hadoop::NodeManager& manager, base::Log log, base::Registry& metrics,
                ContainerListConfig config);

  net::Task<Result<Listing>> get() { return shared_.get(); }
  // The last good list, however old; null: none yet.
  const Listing& remembered() const { return remembered_; }
  // Whether the last request was answered; false before the first.
  bool is_up() const { return shared_.last() && shared_.last()->has_value(); }

 private:
  net::Task<Result<Listing>> ask();

  hadoop::NodeManager& manager_;
  base::Log log_;
  ContainerListConfig config_;
  base::Counter& calls_;
  base::Counter& failed_;
  base::Counter& shut_out_;
  base::Gauge& up_;
  base::Gauge& containers_;
  Listing remembered_;
  SharedAnswer<Listing> shared_;  // must be the last member: it uses the others
};

}  // namespace tidemark::yarn_copilot
