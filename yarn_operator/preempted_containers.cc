#include "yarn_operator/preempted_containers.h"

#include <algorithm>
#include <chrono>

namespace tidemark::yarn_operator {
namespace {

// Makes the times of entries unique: a reader counts entries with the same time only once.
constexpr base::Duration kApart = std::chrono::microseconds(1);

std::vector<model::EndedTasks> written_on(const kube::Node& node) {
  const kube::Text* text = node.meta.annotations.find(model::kYarnPreemptedAnnotation);
  if (text == nullptr) return {};
  return model::parse_ended_tasks(text->view()).value_or(std::vector<model::EndedTasks>());
}

// An entry in the future, after a clock was set back, must not use up an hour forever.
bool counts(const model::EndedTasks& each, base::WallTime now) {
  return now - each.at < model::kYarnPreemptedKept && each.at - now < model::kYarnPreemptedKept;
}

}  // namespace

void PreemptedContainers::add(const kube::Node& node, std::string_view work_class, std::int64_t containers,
                              base::WallTime now) {
  if (containers <= 0) return;
  const auto before = of(node, now);
  base::WallTime at{std::chrono::floor<std::chrono::microseconds>(now.since_epoch)};
  if (!before.empty()) at = std::max(at, before.back().at + kApart);
  auto& fresh = fresh_[std::string(node.meta.name)];
  const auto written = written_on(node);
  std::erase_if(fresh, [&](const model::EndedTasks& each) {
    return !counts(each, now) || (!written.empty() && each.at <= written.back().at);
  });
  fresh.push_back({at, std::string(work_class), "", containers, 0});
}

std::vector<model::EndedTasks> PreemptedContainers::of(const kube::Node& node, base::WallTime now) const {
  std::vector<model::EndedTasks> all = written_on(node);
  const base::WallTime last = all.empty() ? base::WallTime() : all.back().at;
  if (const auto fresh = fresh_.find(std::string(node.meta.name)); fresh != fresh_.end()) {
    for (const model::EndedTasks& each : fresh->second) {
      if (each.at > last) all.push_back(each);
    }
  }
  std::erase_if(all, [&](const model::EndedTasks& each) { return !counts(each, now); });
  return all;
}

std::int64_t PreemptedContainers::containers(const kube::Node& node, base::WallTime now) const {
  std::int64_t sum = 0;
  for (const model::EndedTasks& each : of(node, now)) sum += each.evicted;
  return sum;
}

std::optional<std::string> PreemptedContainers::to_write(const kube::Node& node, base::WallTime now) const {
  const auto wanted = of(node, now);
  if (wanted.empty()) {
    return node.meta.annotations.has(model::kYarnPreemptedAnnotation) ? std::optional<std::string>("") : std::nullopt;
  }
  // Entries that are too old go with the next write.
  const auto written = written_on(node);
  if (!written.empty() && written.back().at >= wanted.back().at) return std::nullopt;
  return model::format_ended_tasks(wanted);
}

}  // namespace tidemark::yarn_operator
