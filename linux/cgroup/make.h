// Creates and removes groups in every hierarchy at once, for programs that run their own processes.
//
//   v1   a new cpuset group has neither CPUs nor memory nodes and takes no process: it gets its parent's
//   v2   a group may have only the controllers that its parent enables: so all groups above enable them from then on
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/hierarchies.h"

namespace tidemark::linux {

constexpr Controllers controllers_of(std::initializer_list<Controller> list) {
  unsigned long long bits = 0;
  for (const Controller each : list) bits |= 1ULL << static_cast<unsigned>(each);
  return Controllers(bits);
}

// All that limits and measures of ours are by.
inline constexpr Controllers kLimited =
    controllers_of({Controller::kCpu, Controller::kCpuset, Controller::kMemory, Controller::kIo, Controller::kPids});

// `path` from the root of each hierarchy, with all parents; existing groups stay as they are. Groups created before an
// error stay too. The root and a path that leads up are kInvalid. Not in a hierarchy of v1 that has only `except`. On
// v2 with those of `needed` that the kernel has: below groups of another program, request only the used ones, since
// each is enabled for all siblings too.
Result<void> make_group(const Hierarchies& hierarchies, std::string_view path, Controllers except = {},
                        Controllers needed = kLimited);

// With all below it. kIo, EBUSY: a process is in one of them still. None there: nothing to do.
Result<void> remove_group(const Hierarchies& hierarchies, std::string_view path);

// The files to write a process's number to, one of each hierarchy, so that it is in the group.
std::vector<std::string> process_files(const Hierarchies& hierarchies, std::string_view path);

}  // namespace tidemark::linux
