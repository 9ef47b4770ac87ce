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

std::optional<ContainerRoom> container_room(const NodeTotals& totals, const ContainerSizes& sizes) {
  std::optional<ContainerRoom> room;
  for (const auto& [id, total] : totals) {
    const bool first = !room;
    if (first) room.emplace();
    room->for_the_smallest = room->for_the_smallest || holds(*total, sizes.smallest);
    room->for_the_largest = room->for_the_largest || holds(*total, sizes.largest);
    if (!first && !is_larger(*total, room->largest_total)) continue;
    room->largest_node = id;
    room->largest_total = *total;
  }
  return room;
}

bool some_wait_in_vain(const hadoop::QueueWaiting& waiting, const ContainerRoom& room) {
  if (waiting.containers <= 0 || waiting.memory_mib <= 0) return false;
  return (waiting.memory_mib - 1) / waiting.containers >= room.largest_total.memory_mib;  // more than so many times it
}

}  // namespace tidemark::yarn_operator
