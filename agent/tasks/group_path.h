// Validates paths of groups from outside: a copilot, a host application's settings. They never lead up.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::agent {

// "/kubepods//besteffort/./x/" as "kubepods/besteffort/x": from the root of each hierarchy. Refused: a part "..", a
// part longer than a file name, control characters, more than model::kTaskPathBytesMax. Empty is the root.
Result<std::string> group_path(std::string_view text);

// Joins the parts, each checked as above.
Result<std::string> group_path(std::initializer_list<std::string_view> parts);

// The path as group_path() returns it, if it is below `parent`, which is already checked; the parent itself is refused.
Result<std::string> group_path_below(std::string_view parent, std::string_view text);

}  // namespace tidemark::agent
