// Groups of a test in the machine's own hierarchies, named tidemark-test-<pid>, removed at the end; those of a test
// that was killed are removed by the next one.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "linux/cgroup/hierarchies.h"

namespace tidemark::linux::testing {

inline constexpr const char* kMachineRoot = "/sys/fs/cgroup";
inline constexpr std::string_view kOwnPrefix = "tidemark-test-";

// With those below it, which is all that rmdir takes: no group with a process in it, and no file.
inline void remove_groups(const std::filesystem::path& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->symlink_status(error).type() == std::filesystem::file_type::directory) remove_groups(at->path());
  }
  ::rmdir(path.c_str());
}

// The groups of tests that are no more; with them one that had this process's number before.
inline void remove_left_groups(const Hierarchies& hierarchies) {
  for (const Hierarchy& one : hierarchies.all()) {
    std::error_code error;
    for (std::filesystem::directory_iterator at(one.path, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename();
      if (!name.starts_with(kOwnPrefix)) continue;
      const auto pid = base::parse_int(std::string_view(name).substr(kOwnPrefix.size()));
      if (!pid || *pid <= 0 || *pid > std::numeric_limits<pid_t>::max()) continue;
      const bool dead = ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
      if (dead || *pid == ::getpid()) remove_groups(at->path());
    }
  }
}

class OwnGroup {
 public:
  explicit OwnGroup(const Hierarchies& hierarchies)
      : hierarchies_(hierarchies), name_(std::string(kOwnPrefix) + std::to_string(::getpid())) {
    [[maybe_unused]] static const bool once = (remove_left_groups(hierarchies), true);
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
