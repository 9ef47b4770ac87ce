// How much of the processors offline work has on a node, and why, as something to read.
#pragma once

#include <string>

#include "base/json.h"
#include "policy/suppress/suppress.h"

namespace tidemark::policy {

// One paragraph, and a line for each class of offline work where there are any.
std::string suppress_text(const SuppressPlan& plan);
Json suppress_json(const SuppressPlan& plan);

}  // namespace tidemark::policy
