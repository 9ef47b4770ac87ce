// Looks for troubles with containers from time to time, and counts them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "net/loop.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/troubles.h"
#include "yarn_copilot/work_labels.h"

namespace tidemark::yarn_copilot {

inline constexpr base::Duration kTroubleInterval = std::chrono::seconds(10);
// A tag is anybody's text: more classes than these are told as `other`.
inline constexpr std::size_t kClassesMax = 16;

class TroubleWatch {
 public:
  // `containers` outlives it.
  TroubleWatch(net::EventLoop& loop, Containers& containers, std::vector<QueueClass> queues, base::Log log,
               base::Registry& metrics);

  net::Task<void> run();
  net::Task<void> pass();

 private:
  std::string class_label(const std::string& work_class);

  net::EventLoop& loop_;
  Containers& containers_;
  const std::vector<QueueClass> queues_;
  base::Log log_;
  base::Registry& metrics_;
  TroubleState state_;
  std::set<std::string> classes_;
};

}  // namespace tidemark::yarn_copilot
