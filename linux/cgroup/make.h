// Making groups and taking them away, in every hierarchy at once, for whoever runs processes of his own.
//
//   v1   a new group of cpuset has neither processors nor memory and takes no process: it gets its parent's
//   v2   a group may have only the controllers that its parent hands down: so all above it do from then on
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

// `path` from the root of each hierarchy, with what leads to it; one that is there stays as it is. What was made before
// an error stays too. The root and a path that leads up are kInvalid. Not in a hierarchy of v1 that carries nothing but
// `except`. In v2 with those of `needed` that the kernel has: whoever goes below groups of somebody else asks for no
// more than he uses, since each one is handed down to all that is beside his own.
Result<void> make_group(const Hierarchies& hierarchies, std::string_view path, Controllers except = {},
                        Controllers needed = kLimited);

// With all below it. kIo, EBUSY: a process is in one of them still. None there: nothing to do.
Result<void> remove_group(const Hierarchies& hierarchies, std::string_view path);

// The files to write a process's number to, one of each hierarchy, so that it is in the group.
std::vector<std::string> process_files(const Hierarchies& hierarchies, std::string_view path);

}  // namespace tidemark::linux
