// Renders the CPU limit of offline work on a node with its reason.
#pragma once

#include <string>

#include "base/json.h"
#include "policy/suppress/suppress.h"

namespace tidemark::policy {

// One paragraph, and a line for each class of offline work.
std::string suppress_text(const SuppressPlan& plan);
Json suppress_json(const SuppressPlan& plan);

}  // namespace tidemark::policy
