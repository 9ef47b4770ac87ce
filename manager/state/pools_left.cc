#include "manager/state/pools_left.h"

#include <utility>

#include "policy/contest/contest.h"

namespace tidemark::manager {

bool PoolsLeft::count(const std::string& pool, int by) {
  Pool& counted = pools_[pool];
  counted.nodes += by;
  const bool before = std::exchange(counted.whole, speak_for_all(pool, counted.nodes));
  return counted.whole != before;
}

// A pool is counted only where its size decides: a fight over a large one would count it for each of its nodes.
bool PoolsLeft::speak_for_all(const std::string& pool, std::int64_t nodes) const {
  if (nodes < policy::contested_nodes_for_pool(0)) return false;
  if (nodes >= policy::contested_nodes_for_pool(static_cast<std::int64_t>(nodes_.core().size()))) return true;
  std::int64_t size = 0;
  nodes_.for_each([&](const kube::ObjectKey&, const kube::Node& node) { size += pool_of_(node) == pool ? 1 : 0; });
  return nodes >= policy::contested_nodes_for_pool(size);
}

bool PoolsLeft::whole(std::string_view pool) const {
  const auto found = pools_.find(pool);
  return found != pools_.end() && found->second.whole;
}

std::int64_t PoolsLeft::nodes(std::string_view pool) const {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? 0 : found->second.nodes;
}

std::int64_t PoolsLeft::nodes_in_all() const {
  std::int64_t all = 0;
  for (const auto& [name, pool] : pools_) all += pool.nodes;
  return all;
}

void PoolsLeft::for_each(const std::function<void(const std::string& pool)>& visit) const {
  for (const auto& [name, pool] : pools_) visit(name);
}

}  // namespace tidemark::manager
