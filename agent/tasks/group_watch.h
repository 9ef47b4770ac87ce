// Groups whose folders are watched: the kernel tells when a group is made in one of them or goes. A hint to look, which
// may come for nothing and, where the kernel gives no watch, not at all.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/folder_watch.h"
#include "net/loop.h"

namespace tidemark::agent {

// The hierarchy to watch if v1 has a cgroup in several: cpu, as in contract 7.2.
std::size_t watched_hierarchy(const linux::Hierarchies& hierarchies);

// As far as it can be looked at.
bool group_is_there(const linux::Hierarchies& hierarchies, const std::string& group);

// Whether groups lie in it; true where that cannot be looked at.
bool holds_groups(const linux::Hierarchies& hierarchies, const std::string& group);

class GroupWatch {
 public:
  // All that is given outlives it. `told` is called from the loop.
  GroupWatch(net::EventLoop& loop, const linux::Hierarchies& hierarchies, base::Log log, std::function<void()> told);
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  // These and no others; one that is not there is tried again the next time. Answers whether one is watched that was
  // not: what came into it before is not told of.
  bool set(std::span<const std::string> groups);

 private:
  bool add(const std::string& group);
  void take_events();

  const linux::Hierarchies& hierarchies_;
  std::size_t hierarchy_;
  base::Log log_;
  std::function<void()> told_;
  std::optional<linux::FolderWatch> watch_;  // nullopt: the kernel gives none
  std::unordered_map<std::string, int> watched_;
  net::FdWatch readable_;
};

}  // namespace tidemark::agent
