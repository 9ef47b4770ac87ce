// Finds the class of an application from its tags and its queue. The values are the same as in pod labels:
//
//   tags     tidemark-class:spark, tidemark-business:ads, tidemark-job:nightly
//   queues   a rule QUEUE=CLASS if no tag gives it; the longest matching queue applies
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "hadoop/applications.h"

namespace tidemark::yarn_copilot {

struct QueueClass {
  std::string queue;  // root.etl, etl.nightly, or its last name alone
  std::string work_class;
  bool operator==(const QueueClass&) const = default;
};
// "etl=transcode" each. The error does not name the flag.
Result<std::vector<QueueClass>> read_queue_classes(std::span<const std::string> texts);

// Labels of its containers, each once. Invalid label values are skipped.
std::vector<std::pair<std::string, std::string>> work_labels(const hadoop::ApplicationReport& report,
                                                             const std::vector<QueueClass>& queues);

}  // namespace tidemark::yarn_copilot
