// Starts another executable of Tidemark in place of this one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidemark::main {

// Replaces this process by `program COMMAND ARGS` from the directory of this executable. The process id, environment
// and open files stay. Returns only on failure: prints the error and returns kFailed.
int start_beside(std::string_view program, std::string_view command, const std::vector<std::string>& args);

}  // namespace tidemark::main
