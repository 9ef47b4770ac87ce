// Strategic merge patch of the built-in kinds: lists with a merge key are merged element by element, the others
// replaced. Directives: $patch (replace, merge, delete), $deleteFromPrimitiveList/x, $setElementOrder/x, $retainKeys.
#pragma once

#include "base/json.h"
#include "kube/memory/api_error.h"
#include "kube/memory/builtin_types.h"

namespace tidemark::kube::memory {

// `type` may be null: maps merge, lists are replaced. A patch that does not fit (a missing merge key, an unknown
// directive) is 400; `target` is not to be used then.
Answer<void> apply_strategic_merge_patch(Json& target, const Json& patch, const BuiltinType* type);

}  // namespace tidemark::kube::memory
