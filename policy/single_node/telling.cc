#include "policy/single_node/telling.h"

#include <algorithm>

namespace tidemark::policy::single_node {
namespace {

constexpr std::size_t kExactPlaces = 10;
constexpr std::int64_t kPart = 10;  // a tenth

bool moved(std::size_t told, std::size_t now) {
  const std::size_t least = std::min(told, now), most = std::max(told, now);
  if (least <= kExactPlaces) return told != now;
  return most - least >= least / static_cast<std::size_t>(kPart);
}

bool moved(std::int64_t told, std::int64_t now, std::int64_t wanted) {
  std::int64_t by = 0;
  if (__builtin_sub_overflow(std::max(told, now), std::min(told, now), &by)) return true;
  return by != 0 && by >= wanted / kPart;
}

bool same(const QueueShort& told, const QueueShort& now) {
  return told.resource == now.resource && told.wanted == now.wanted && !moved(told.free, now.free, now.wanted) &&
         !moved(told.sold, now.sold, now.wanted);
}

}  // namespace

bool worth_telling(const QueueWait& told, const QueueWait& now) {
  return told.kind != now.kind || told.reason != now.reason || told.key != now.key ||
         moved(told.position, now.position) || moved(told.of, now.of) ||
         !std::ranges::equal(told.shorts, now.shorts, same);
}

}  // namespace tidemark::policy::single_node
