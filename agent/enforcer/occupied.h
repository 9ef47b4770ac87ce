// Whether anybody is in a group, or below it, but for groups that are passed over. One that cannot be looked at counts
// as if somebody were: it is better kept than loosened.
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

// Looks at each group once in its life. All that is given outlives it.
class Occupied {
 public:
  // What lies in a group that is passed over is as well. `troubles`: what could not be looked at.
  Occupied(const linux::Hierarchies& hierarchies, const std::set<std::string, std::less<>>& passed_over,
           std::vector<Error>& troubles)
      : hierarchies_(hierarchies), passed_over_(passed_over), troubles_(troubles) {}

  bool operator()(const std::string& path);

  // Directly below it; none where it is not there, or cannot be looked at.
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
