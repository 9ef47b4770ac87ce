// The past that the console shows from files, by the code of the commands.
#pragma once

#include <string>
#include <vector>

#include "console/past_files.h"

namespace tidemark::main {

// `journals`: directories of managers' decision journals; `agents`: state directories of agents. Of several directories
// the first one that has an answer gives it.
console::PastFiles past_files(std::vector<std::string> journals, std::vector<std::string> agents);

}  // namespace tidemark::main
