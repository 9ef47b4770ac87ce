// The difference of two documents as a JSON patch (RFC 6902): what an admission webhook answers with.
#pragma once

#include "base/json.h"

namespace tidemark::policy {

// Applied to `before` it gives `after`; an empty array where they are equal. Objects are compared member by member,
// lists of the same length element by element; any other list is replaced whole. Numbers are equal by value.
Json json_patch(const Json& before, const Json& after);

}  // namespace tidemark::policy
