// Groups of a test in the machine's own hierarchies, named tidemark-test-<pid>, removed at the end.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "linux/cgroup/hierarchies.h"

namespace tidemark::linux::testing {

inline constexpr const char* kMachineRoot = "/sys/fs/cgroup";

class OwnGroup {
 public:
  explicit OwnGroup(const Hierarchies& hierarchies)
      : hierarchies_(hierarchies), name_("tidemark-test-" + std::to_string(::getpid())) {
    complete_ = make(name_);
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  ~OwnGroup() { remove(); }

  const std::string& name() const { return name_; }
  bool complete() const { return complete_; }  // in every hierarchy: this user may make groups

  bool make_below(std::string_view relative) { return make(name_ + "/" + std::string(relative)); }
  // v2: lets groups below this one have controllers; the root has to let this one have them.
  bool give_controllers(std::string_view names) {
    return std::ranges::all_of(hierarchies_.all(), [&](const Hierarchy& one) {
      std::ofstream file(one.path + "/" + name_ + "/cgroup.subtree_control");
      return static_cast<bool>(file << names << std::flush);
    });
  }
  void remove() {
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) ::rmdir(path->c_str());
    made_.clear();
  }

 private:
  bool make(const std::string& group) {
    return std::ranges::all_of(hierarchies_.all(), [&](const Hierarchy& one) {
      const std::string path = one.path + "/" + group;
      if (::mkdir(path.c_str(), 0755) != 0) return false;
      made_.push_back(path);
      return true;
    });
  }

  const Hierarchies& hierarchies_;
  std::string name_;
  bool complete_ = false;
  std::vector<std::string> made_;
};

}  // namespace tidemark::linux::testing
