#include "yarn_operator/container_room.h"

#include <tuple>

namespace tidemark::yarn_operator {
namespace {

bool holds(const hadoop::Resource& total, const hadoop::Resource& container) {
  return total.memory_mib >= container.memory_mib && total.vcores >= container.vcores;
}

bool is_larger(const hadoop::Resource& a, const hadoop::Resource& b) {
  return std::tie(a.memory_mib, a.vcores) > std::tie(b.memory_mib, b.vcores);
}

}  // namespace

std::string partition_of(const hadoop::NodeReport& report, const ContainerSizes& sizes) {
  return sizes.partitions ? std::string(hadoop::partition_of(report)) : "";
}

std::optional<ContainerRoom> container_room(const NodeTotals& totals, const ContainerSizes& sizes,
                                            const std::set<std::string>& shared) {
  std::optional<ContainerRoom> room;
  const auto count = [&](const std::string& partition, const hadoop::NodeId& id, const hadoop::Resource& total) {
    const auto [at, first] = room->partitions.try_emplace(partition);
    PartitionRoom& of = at->second;
    if (first) of.largest_container = hadoop::largest_in(sizes.largest, partition);
    of.for_the_largest = of.for_the_largest || holds(total, of.largest_container);
    if (!first && !is_larger(total, of.largest_total)) return;
    of.largest_node = id;
    of.largest_total = total;
  };
  for (const auto& [id, node] : totals) {
    if (!room) room.emplace();
    room->for_the_smallest = room->for_the_smallest || holds(*node.total, sizes.smallest);
    count(node.partition, id, *node.total);
    if (shared.contains(node.partition)) count("", id, *node.total);
  }
  return room;
}

bool some_wait_in_vain(const hadoop::QueueWaiting& waiting, const PartitionRoom& room) {
  if (waiting.containers <= 0 || waiting.memory_mib <= 0) return false;
  return (waiting.memory_mib - 1) / waiting.containers >=
         room.largest_total.memory_mib;  // average above the largest total
}

}  // namespace tidemark::yarn_operator
