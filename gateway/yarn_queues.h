// The queues of YARN: their state by a poll, and the waits of recent runs in them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "gateway/record.h"
#include "hadoop/applications_rest.h"
#include "net/loop.h"
#include "policy/route/signals.h"

namespace tidemark::gateway {

inline constexpr std::string_view kQueueConf = "spark.yarn.queue";
inline constexpr std::string_view kDefaultQueue = "default";

class YarnQueues {
 public:
  static constexpr base::Duration kPoll = std::chrono::seconds(5);
  static constexpr std::size_t kWaitsMax = 200;  // of one queue; older ones are forgotten
  static constexpr std::size_t kQueuesMax = 1000;

  YarnQueues(net::EventLoop& loop, hadoop::ApplicationsRest rest, const base::Log& log, base::Duration poll = kPoll);
  void start();  // polls until destroyed

  // A run of YARN that has begun to run, or its record of an earlier process. Each attempt is noted once.
  void note(const Record& record);
  // nullopt: the ResourceManager does not answer, or it has no such queue.
  std::optional<policy::route::YarnQueue> queue(std::string_view name) const;

 private:
  net::Task<void> poll();

  net::EventLoop& loop_;
  hadoop::ApplicationsRest rest_;
  base::Log log_;
  const base::Duration poll_;
  std::vector<hadoop::QueueState> queues_;
  std::optional<base::MonotonicTime> last_contact_;
  std::map<std::string, std::deque<std::int64_t>, std::less<>> waits_s_;  // by the name of the queue
  net::Scope scope_;
};

}  // namespace tidemark::gateway
