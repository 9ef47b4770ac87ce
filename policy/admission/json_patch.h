// The difference of two documents as a JSON patch (RFC 6902), for the answer of an admission webhook, and as a merge
// patch (RFC 7396), for a client. The cost is bounded by n log n of the document size, because the author of a pod
// decides how large its maps are.
#pragma once

#include <cstddef>

#include "base/json.h"

namespace tidemark::policy::admission {

// The patch turns `before` into `after`; it is an empty array if they are equal. Objects are compared member by member,
// lists of the same length element by element; any other list is replaced whole. Numbers are equal by value. `steps` is
// increased by the number of compared names.
Json json_patch(const Json& before, const Json& after, std::size_t* steps = nullptr);

// A removed member is null; lists are replaced whole.
Json merge_patch(const Json& before, const Json& after, std::size_t* steps = nullptr);

}  // namespace tidemark::policy::admission
