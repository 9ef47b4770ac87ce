// What Go's %v makes of a decoded JSON value: the API server shows patches so, and kubectl prints it.
#pragma once

#include <string>

#include "base/json.h"

namespace tidemark::kube {

// map[a:1 b:[x y]], members sorted.
std::string go_text(const Json& value);

}  // namespace tidemark::kube
