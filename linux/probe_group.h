// A group of a probe: created in the hierarchies of its files, below an existing group, and removed again.
//
// Its name is kProbePrefix, the pid and start time of this process, and a suffix if a probe needs several. Empty
// leftovers of ended processes are removed first.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

inline constexpr std::string_view kProbePrefix = "tidemark-probe-";
inline constexpr std::string_view kBesideSuffix = "-beside";  // of the group that another one is compared with

class ProbeRim;

// "1234-5678": pid and start of this process, as `proc` has them.
Result<std::string> own_life(const Folder& proc, Buffer& buffer);

class ProbeGroup {
 public:
  // All of them outlive it.
  ProbeGroup(const Hierarchies& hierarchies, const Group& parent, const Folder& proc, ProbeRim& rim,
             std::string_view life, std::string_view suffix);
  ProbeGroup(const ProbeGroup&) = delete;
  ProbeGroup& operator=(const ProbeGroup&) = delete;
  ~ProbeGroup() { remove(); }

  std::string path() const;  // from the root of each hierarchy

  // In the hierarchy of each file; where that is refused the others are made.
  void make(std::span<const File> files, Buffer& buffer);
  bool anywhere() const { return !made_.empty(); }
  // Why the group is not in the hierarchy of that file. nullptr: it is.
  const Error* why_not(File file) const;
  const Error* any_error() const;

  // What could not be removed, and why; "" where nothing is left.
  std::string remove();

 private:
  struct Made {
    std::size_t hierarchy = 0;
    int directory = -1;  // of the parent, which holds it
  };
  std::string_view mount(std::size_t hierarchy) const { return hierarchies_.all()[hierarchy].path; }
  // Its text is put together only for a message, while name_ lives.
  Place place(std::size_t hierarchy) const { return {mount(hierarchy), parent_.path(), name_}; }
  Result<void> make_in(std::size_t hierarchy, Controller controller, Buffer& buffer);
  bool is_left(std::string_view name, Buffer& buffer) const;

  const Hierarchies& hierarchies_;
  const Group& parent_;
  const Folder& proc_;
  ProbeRim& rim_;
  std::string life_, name_;
  std::vector<Made> made_;
  std::array<bool, kHierarchiesMax> tried_{};
  std::array<std::optional<Error>, kHierarchiesMax> why_not_;
};

}  // namespace tidemark::linux
