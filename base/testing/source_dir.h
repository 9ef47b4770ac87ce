// Path of the sources, for tests that read files beside them.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::base::testing {

std::string from_root(std::string_view path);  // "tests/golden/x" from anywhere

}  // namespace tidemark::base::testing
