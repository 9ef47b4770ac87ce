#include "kube/objects.h"

#include <algorithm>

namespace tidemark::kube {
namespace {

template <class T>
std::size_t vector_bytes(const std::vector<T>& items) {
  std::size_t total = allocated_bytes(items.capacity() * sizeof(T));
  for (const T& item : items) total += item.bytes();
  return total;
}

}  // namespace

bool KeyFilter::keeps(std::string_view key) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [key](const std::string& pattern) {
    if (!pattern.ends_with('*')) return key == pattern;
    return key.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  });
}

const Text* TextMap::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::string_view TextMap::get(std::string_view key) const {
  const Text* found = find(key);
  return found == nullptr ? std::string_view() : found->view();
}

void TextMap::set(Text key, Text value) {
  for (Entry& entry : entries_) {
    if (entry.key == key) {
      entry.value = std::move(value);
      return;
    }
  }
  entries_.push_back({std::move(key), std::move(value)});
}

std::size_t TextMap::bytes() const {
  std::size_t total = allocated_bytes(entries_.capacity() * sizeof(Entry));
  for (const Entry& entry : entries_) total += entry.key.bytes() + entry.value.bytes();
  return total;
}

std::optional<std::int64_t> ResourceList::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry.amount;
  }
  return std::nullopt;
}

void ResourceList::set(Text name, std::int64_t amount) {
  for (Entry& entry : entries_) {
    if (entry.name == name) {
      entry.amount = amount;
      return;
    }
  }
  entries_.push_back({std::move(name), amount});
}

std::size_t ResourceList::bytes() const {
  std::size_t total = allocated_bytes(entries_.capacity() * sizeof(Entry));
  for (const Entry& entry : entries_) total += entry.name.bytes();
  return total;
}

std::size_t ObjectMeta::bytes() const {
  return ns.bytes() + name.bytes() + uid.bytes() + string_bytes(resource_version) + labels.bytes() +
         annotations.bytes() + owner_kind.bytes() + owner_name.bytes();
}

std::size_t Container::bytes() const {
  return name.bytes() + requests.bytes() + limits.bytes();
}

std::size_t Pod::bytes() const {
  return sizeof(Pod) + meta.bytes() + node_name.bytes() + scheduler_name.bytes() + vector_bytes(containers) +
         vector_bytes(init_containers) + overhead.bytes() + pod_requests.bytes() + pod_limits.bytes() +
         vector_bytes(statuses);
}

std::size_t NodeInfo::bytes() const {
  return kernel_version.bytes() + os_image.bytes() + architecture.bytes() + container_runtime_version.bytes() +
         kubelet_version.bytes() + boot_id.bytes();
}

const NodeCondition* Node::condition(std::string_view type) const {
  for (const NodeCondition& condition : conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

Truth Node::ready() const {
  for (const NodeCondition& condition : conditions) {
    if (condition.type == std::string_view("Ready")) return condition.status;
  }
  return Truth::kUnknown;
}

std::size_t Node::bytes() const {
  return sizeof(Node) + meta.bytes() + capacity.bytes() + allocatable.bytes() + vector_bytes(conditions) +
         vector_bytes(taints) + info.bytes() + internal_ip.bytes();
}

const ResourceList* AggregatedUsage::find(Aggregation wanted) const {
  for (const auto& [aggregation, list] : usage) {
    if (aggregation == wanted) return &list;
  }
  return nullptr;
}

std::size_t AggregatedUsage::bytes() const {
  std::size_t total = allocated_bytes(usage.capacity() * sizeof(usage[0]));
  for (const auto& [aggregation, list] : usage) total += list.bytes();
  return total;
}

std::size_t NodeMetric::bytes() const {
  std::size_t total = sizeof(NodeMetric) + meta.bytes() + node_usage.bytes() + system_usage.bytes() +
                      vector_bytes(aggregated_node_usages) + vector_bytes(aggregated_system_usages) +
                      allocated_bytes(pods.capacity() * sizeof(pods[0])) + vector_bytes(host_applications);
  if (policy) {
    total += allocated_bytes(policy->aggregate_durations.capacity() * sizeof(base::Duration)) +
             policy->memory_collect_policy.bytes();
  }
  if (prod_reclaimable) total += prod_reclaimable->bytes();
  if (prod_peak) total += prod_peak->bytes();
  return total;
}

std::size_t ConfigMap::bytes() const {
  return sizeof(ConfigMap) + meta.bytes() + data.bytes();
}

std::size_t Lease::bytes() const {
  return sizeof(Lease) + meta.bytes() + string_bytes(holder);
}

std::size_t Event::bytes() const {
  return sizeof(Event) + meta.bytes() + type.bytes() + reason.bytes() + string_bytes(message) + about_kind.bytes() +
         about_ns.bytes() + about_name.bytes() + about_uid.bytes() + component.bytes();
}

}  // namespace tidemark::kube
