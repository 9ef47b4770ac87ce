#include "hadoop/queues.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::hadoop {
namespace {

constexpr double kPercent = 100;
constexpr int kQueueDepthMax = 32;

double number_at(const Json& json, std::string_view key) {
  const Json* found = json.at(key);
  return found != nullptr && found->is_number() ? found->as_double() : 0;
}

double percent(double part, double whole) {
  return whole > 0 ? part / whole * kPercent : 0;
}

// Of the resource that is used most.
double fair_percent(const Json& used, const Json& whole) {
  return std::max(percent(number_at(used, "memory"), number_at(whole, "memory")),
                  percent(number_at(used, "vCores"), number_at(whole, "vCores")));
}

// The queues below a queue: `queues` of the CapacityScheduler, `childQueues` of the FairScheduler.
const Json* children_of(const Json& queue) {
  for (const std::string_view key : {"queues", "childQueues"}) {
    const Json* below = queue.at(key, "queue");
    if (below != nullptr && below->is_array() && !below->as_array().empty()) return below;
  }
  return nullptr;
}

void add_leaves(const Json& queue, const std::string& path, double cluster_percent, int depth,
                std::vector<QueueState>& out) {
  if (const Json* children = children_of(queue); children != nullptr && depth < kQueueDepthMax) {
    for (const Json& each : children->as_array()) {
      const auto name = each.text_at("queueName");
      // The FairScheduler names a queue by its path.
      const bool whole = name.starts_with(base::cat(path, "."));
      add_leaves(each, whole ? std::string(name) : base::cat(path, ".", name), cluster_percent, depth + 1, out);
    }
    return;
  }
  QueueState leaf{.path = path,
                  .pending_containers = static_cast<std::int64_t>(number_at(queue, "pendingContainers")),
                  .used_percent = cluster_percent};
  if (const Json *used = queue.at("usedResources"), *most = queue.at("maxResources");
      used != nullptr && most != nullptr) {
    leaf.pending = static_cast<std::int64_t>(number_at(queue, "numPendingApps"));
    leaf.used_percent = std::max(leaf.used_percent, fair_percent(*used, *most));
  } else {
    leaf.pending = static_cast<std::int64_t>(number_at(queue, "numPendingApplications"));
    leaf.used_percent = std::max(
        leaf.used_percent, percent(number_at(queue, "absoluteUsedCapacity"), number_at(queue, "absoluteMaxCapacity")));
  }
  out.push_back(std::move(leaf));
}

}  // namespace

Result<std::vector<QueueState>> parse_queues(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* info = json.at("scheduler", "schedulerInfo");
  if (info == nullptr || !info->is_object()) return fail(ErrorKind::kInvalid, "the queues: the answer has none");
  std::vector<QueueState> out;
  if (const Json* root = info->at("rootQueue"); root != nullptr && root->is_object()) {
    const Json* used = root->at("usedResources");
    const Json* whole = root->at("clusterResources");
    add_leaves(*root, "root", used != nullptr && whole != nullptr ? fair_percent(*used, *whole) : 0, 0, out);
  } else if (children_of(*info) != nullptr) {
    add_leaves(*info, "root", number_at(*info, "usedCapacity"), 0, out);
  }
  return out;
}

const QueueState* find_queue(const std::vector<QueueState>& queues, std::string_view name) {
  const QueueState* found = nullptr;
  for (const QueueState& each : queues) {
    if (each.path == name) return &each;
    if (!each.path.ends_with(base::cat(".", name))) continue;
    if (found != nullptr) return nullptr;
    found = &each;
  }
  return found;
}

}  // namespace tidemark::hadoop
