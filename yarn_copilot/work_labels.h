// What kind of work an application is, by the words that its user wrote on it and by its queue. The words are those
// that pods have as labels:
//
//   tags     tidemark-class:spark, tidemark-business:ads, tidemark-job:nightly
//   queues   a rule QUEUE=CLASS for what its user says nothing of; the longest queue that holds it counts
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
// "etl=transcode" each. Without the place of what is wrong.
Result<std::vector<QueueClass>> read_queue_classes(std::span<const std::string> texts);

// Labels of its containers, each once. Words that could be no label are left out.
std::vector<std::pair<std::string, std::string>> work_labels(const hadoop::ApplicationReport& report,
                                                             const std::vector<QueueClass>& queues);

}  // namespace tidemark::yarn_copilot
