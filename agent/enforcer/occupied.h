// Whether processes are in a group or below it, not counting excluded groups. A group that cannot be read counts as
// occupied: keeping a limit is safer than removing it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"

namespace tidemark::agent {

// Examines each group once in its life. All arguments outlive it.
class Occupied {
 public:
  // Excluded groups include all groups below them. `troubles`: groups that could not be read.
  Occupied(const linux::Hierarchies& hierarchies, const std::set<std::string, std::less<>>& passed_over,
           std::vector<Error>& troubles)
      : hierarchies_(hierarchies), passed_over_(passed_over), troubles_(troubles) {}

  bool operator()(const std::string& path);

  // Groups directly below; none if the group does not exist or cannot be read.
  std::vector<std::string> below(const std::string& path);

 private:
  bool is_passed_over(const std::string& group) const;
  Result<std::vector<std::string>> look_below(const std::string& path);
  Result<std::vector<std::string>> folders_of(const linux::Group& group);
  Result<bool> look(const std::string& path, int depth);

  const linux::Hierarchies& hierarchies_;
  const std::set<std::string, std::less<>>& passed_over_;
  std::vector<Error>& troubles_;
  linux::Buffer buffer_;
  std::map<std::string, bool> known_;
};

}  // namespace tidemark::agent
