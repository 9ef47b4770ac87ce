#include "manager/evictions/eviction_tally.h"

#include <map>

namespace tidemark::manager {
namespace {
constexpr std::size_t kSeenMax = 100'000;  // more than that in an hour are a spike in any case
}  // namespace

void EvictionTally::evicted(std::string_view node, base::WallTime when, std::int64_t times) {
  if (node.empty()) return;
  if (seen_.size() >= kSeenMax) seen_.pop_front();
  seen_.push_back({when, std::string(node), times});
}

std::vector<policy::settings::PoolEvictions> EvictionTally::count(
    base::WallTime now, base::Duration window, const std::function<std::string(std::string_view node)>& pool_of) {
  std::erase_if(seen_, [&](const Seen& each) { return now - each.when > kKept; });
  std::map<std::string, std::int64_t> pools;
  for (const Seen& each : seen_) {
    if (now - each.when >= window) continue;
    const std::string pool = pool_of(each.node);
    if (!pool.empty()) pools[pool] += each.times;
  }
  std::vector<policy::settings::PoolEvictions> found;
  for (const auto& [pool, evictions] : pools) found.push_back({pool, evictions});
  return found;
}

}  // namespace tidemark::manager
