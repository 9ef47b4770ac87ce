// Watches the directories of groups: the kernel reports when a group is created in one of them or removed. A hint to
// look, which may be false and, if the kernel gives no watch, may not come.
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

// Whether the group exists; false if it cannot be read.
bool group_is_there(const linux::Hierarchies& hierarchies, const std::string& group);

// Whether it contains groups; true if it cannot be read.
bool holds_groups(const linux::Hierarchies& hierarchies, const std::string& group);

class GroupWatch {
 public:
  // All arguments outlive it. `told` is called from the loop.
  GroupWatch(net::EventLoop& loop, const linux::Hierarchies& hierarchies, base::Log log, std::function<void()> told);
  GroupWatch(const GroupWatch&) = delete;
  GroupWatch& operator=(const GroupWatch&) = delete;

  // Watches exactly these; a missing group is tried again at the next call. Returns whether a watch is new: earlier
  // changes in it are not reported.
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
