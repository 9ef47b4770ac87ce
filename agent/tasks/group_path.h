// Paths of groups that somebody outside names: a copilot, a host application's settings. They only ever lead down.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::agent {

// "/kubepods//besteffort/./x/" as "kubepods/besteffort/x": from the root of each hierarchy. Refused: a part "..", a
// part longer than a file name can be, control characters, more than model::kTaskPathBytesMax. Empty is the root.
Result<std::string> group_path(std::string_view text);

// The parts one below the other, each as above.
Result<std::string> group_path(std::initializer_list<std::string_view> parts);

// `path` as group_path() answers it, and below `parent`, which is one already; the parent itself is not.
Result<std::string> group_path_below(std::string_view parent, std::string_view text);

}  // namespace tidemark::agent
