// The difference of two documents, as an admission webhook answers with it (JSON patch, RFC 6902) and as a client sends
// it (merge patch, RFC 7396). Bounded by the size of the documents times its logarithm: whoever makes a pod decides how
// large its maps are.
#pragma once

#include <cstddef>

#include "base/json.h"

namespace tidemark::policy {

// Applied to `before` it gives `after`; an empty array where they are equal. Objects are compared member by member,
// lists of the same length element by element; any other list is replaced whole. Numbers are equal by value.
// `steps` is increased by the names that were compared.
Json json_patch(const Json& before, const Json& after, std::size_t* steps = nullptr);

// A member that went is null; lists are replaced whole.
Json merge_patch(const Json& before, const Json& after, std::size_t* steps = nullptr);

}  // namespace tidemark::policy
