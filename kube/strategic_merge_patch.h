// Strategic merge patch of the built-in kinds: lists with a merge key are merged element by element, the others
// replaced. Directives: $patch (replace, merge, delete), $deleteFromPrimitiveList/x, $setElementOrder/x, $retainKeys.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "kube/builtin_types.h"

namespace tidemark::kube {

// `type` may be null: maps merge, lists are replaced. A patch that does not fit is an error with the API server's code
// and words: 400, and 500 for what the server has no code for (a missing merge key, an unknown directive). `target` is
// not to be used then.
Result<void> apply_strategic_merge_patch(Json& target, const Json& patch, const BuiltinType* type);

}  // namespace tidemark::kube
