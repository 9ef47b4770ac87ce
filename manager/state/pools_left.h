// Counts per pool the nodes left to another writer, and lists the pools left to it completely: three nodes stand for a
// small pool, one in a hundred for a large one (policy/contest).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kube/informer.h"
#include "kube/objects.h"

namespace tidemark::manager {

class PoolsLeft {
 public:
  using PoolOf = std::function<std::string(const kube::Node&)>;
  // Both outlive it.
  PoolsLeft(const kube::Informer<kube::Node>& nodes, const PoolOf& pool_of) : nodes_(nodes), pool_of_(pool_of) {}

  // One node more, or one less. True where the whole pool came under, or left, the rule. How large the pool is is asked
  // here and not at each look: by nodes that join or go alone nothing changes.
  bool count(const std::string& pool, int by);
  bool whole(std::string_view pool) const;
  std::int64_t nodes(std::string_view pool) const;
  std::int64_t nodes_in_all() const;
  void clear() { pools_.clear(); }
  bool none() const { return pools_.empty(); }
  void for_each(const std::function<void(const std::string& pool)>& visit) const;

 private:
  struct Pool {
    std::int64_t nodes = 0;
    bool whole = false;
  };
  bool speak_for_all(const std::string& pool, std::int64_t nodes) const;

  const kube::Informer<kube::Node>& nodes_;
  const PoolOf& pool_of_;
  std::map<std::string, Pool, std::less<>> pools_;
};

}  // namespace tidemark::manager
