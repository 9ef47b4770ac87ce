#include "hadoop/capacity_scheduler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tidemark::hadoop {
namespace {

constexpr std::string_view kRoot = "yarn.scheduler.capacity.root";

struct Queue {
  std::string key;   // of its settings, with those of all above it
  Resource largest;  // that may be asked for in it
};

// A queue's own counts also where the one above it has less, up to the cluster's.
template <typename Amount>
Result<void> bound(const Site& scheduler, const std::string& key, Amount most, Amount& amount) {
  TM_TRY(const auto said, scheduler.text(key));
  if (!said || said->empty()) return {};
  const auto number = base::parse_int(*said);
  if (!number || *number < -1 || *number > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorKind::kInvalid, scheduler.place(key), ": ", key, " is to be a number, found ",
                base::in_quotes(*said));
  }
  // −1 is Hadoop's own word for nothing; more than the cluster gives out it refuses at its start.
  if (*number >= 0) amount = std::min(most, static_cast<Amount>(*number));
  return {};
}

}  // namespace

Result<Resource> largest_in_any_queue(const Site& scheduler, const Resource& cluster) {
  std::vector<Queue> left{{std::string(kRoot), cluster}};
  std::optional<Resource> largest;
  for (std::size_t looked = 0; !left.empty(); ++looked) {
    if (looked == kQueuesMax) return fail(ErrorKind::kExhausted, "more than ", kQueuesMax, " queues");
    Queue queue = std::move(left.back());
    left.pop_back();
    TM_TRY_VOID(
        bound(scheduler, base::cat(queue.key, ".maximum-allocation-mb"), cluster.memory_mib, queue.largest.memory_mib));
    TM_TRY_VOID(
        bound(scheduler, base::cat(queue.key, ".maximum-allocation-vcores"), cluster.vcores, queue.largest.vcores));
    TM_TRY(const std::vector<std::string> below, scheduler.list(base::cat(queue.key, ".queues")));
    for (const std::string& name : below) left.push_back({base::cat(queue.key, ".", name), queue.largest});
    if (!below.empty()) continue;  // applications are in queues that have none below them
    const auto by_memory = [](const Resource& each) { return std::tie(each.memory_mib, each.vcores); };
    if (!largest || by_memory(queue.largest) > by_memory(*largest)) largest = queue.largest;
  }
  return *largest;
}

}  // namespace tidemark::hadoop
