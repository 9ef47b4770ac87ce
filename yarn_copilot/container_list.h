// The containers of this node as its NodeManager lists them, asked by many and passed on by one (shared_answer).
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
  base::Duration limit = std::chrono::seconds(3);  // of a question: a NodeManager may hang
};

class ContainerList {
 public:
  // `manager` outlives the list.
  ContainerList(net::EventLoop& loop, hadoop::NodeManager& manager, base::Log log, base::Registry& metrics,
                ContainerListConfig config);

  net::Task<Result<Listing>> get() { return shared_.get(); }
  // What it said when it last answered, however long ago; null: it never did.
  const Listing& remembered() const { return remembered_; }
  // It answered the last time that it was asked. Nobody asked yet: it does not.
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
  SharedAnswer<Listing> shared_;  // last: it uses what is above
};

}  // namespace tidemark::yarn_copilot
