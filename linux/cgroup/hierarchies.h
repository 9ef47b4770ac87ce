// Which cgroup hierarchies there are beneath a root, and where each file is to be found: v1, v2, or a hybrid machine
// with the controllers in v1 and the rest (pressure, cgroup.kill) in a v2 mount without controllers.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

using Controllers = std::bitset<kControllers>;

struct Hierarchy {
  Version version = Version::kV1;
  std::string path;              // the mount point
  Controllers controllers;       // v2: those of cgroup.controllers, and the core always
  std::string mount_root = "/";  // not "/": the mount shows only the groups below that one
  // v2: memory that a group is to keep is its children's too, where they ask for none (memory_recursiveprot).
  bool hands_down_memory = false;
};

// One hierarchy for each mount of the text (/proc/self/mountinfo) at `root` or beneath it that carries a controller of
// ours. Of two mounts of one controller the first that shows the whole counts. The controllers of v2 stand in a file.
std::vector<Hierarchy> parse_mounts(std::string_view root, std::string_view mountinfo);

// Mount points of the hierarchies of v1 there that carry nothing of ours (devices, net_cls, name=systemd), and show the
// whole: in each of them a process has a group as well.
std::vector<std::string> parse_other_mounts(std::string_view root, std::string_view mountinfo);

enum class Layout : std::uint8_t { kV1, kHybrid, kV2 };
std::string_view to_string(Layout);

inline constexpr std::size_t kHierarchiesMax = kControllers + 1;

class Hierarchies {
 public:
  // By the mounts beneath the root; where the text names none there, by the folders as they lie (a fixture, a copy).
  static Result<Hierarchies> discover(const std::string& root, std::string_view mountinfo);

  // The others of v1 beneath the root, as a list for make_group() and its like. Files of ours have no home in them, and
  // no Group is opened there.
  static Result<Hierarchies> discover_others(const std::string& root, std::string_view mountinfo);

  Layout layout() const;
  std::span<const Hierarchy> all() const { return all_; }
  // The directory of each, held open; in the order of all().
  int directory(std::size_t hierarchy) const { return roots_[hierarchy].fd.get(); }
  std::optional<std::size_t> of(Controller) const;  // nullopt: the facility is missing

  struct Home {
    std::size_t hierarchy = 0;
    Version version = Version::kV1;
    const char* name = nullptr;
  };
  // v1 where the controller is mounted there, else v2. nullptr: no hierarchy here can have such a file.
  const Home* home(File) const;

 private:
  std::vector<Hierarchy> all_;
  std::vector<Directory> roots_;
  std::array<std::optional<Home>, kFiles> homes_;
};

}  // namespace tidemark::linux
