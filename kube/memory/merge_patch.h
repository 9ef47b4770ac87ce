// JSON merge patch, RFC 7396: null removes, objects merge, everything else replaces.
#pragma once

#include "base/json.h"

namespace tidemark::kube::memory {

// Total: any patch fits any target. Nesting is bounded by the parser's depth.
void apply_merge_patch(Json& target, const Json& patch);

}  // namespace tidemark::kube::memory
