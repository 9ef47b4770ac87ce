// Making groups and taking them away, in every hierarchy at once, for whoever runs processes of his own.
//
//   v1   a new group of cpuset has neither processors nor memory and takes no process: it gets its parent's
//   v2   a group may have only the controllers that its parent hands down: they are handed down all the way
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/hierarchies.h"

namespace tidemark::linux {

// `path` from the root of each hierarchy, with what leads to it; one that is there stays as it is. What was made before
// an error stays too. The root and a path that leads up are kInvalid. Not in a hierarchy of v1 that carries nothing but
// `except`.
Result<void> make_group(const Hierarchies& hierarchies, std::string_view path, Controllers except = {});

// With all below it. kIo, EBUSY: a process is in one of them still. None there: nothing to do.
Result<void> remove_group(const Hierarchies& hierarchies, std::string_view path);

// The files to write a process's number to, one of each hierarchy, so that it is in the group.
std::vector<std::string> process_files(const Hierarchies& hierarchies, std::string_view path);

}  // namespace tidemark::linux
