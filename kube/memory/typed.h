// Decoding and defaulting of built-in kinds by the type table: what Go's typed decoder and defaulting functions do to
// an object on its way in.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "kube/builtin_types.h"
#include "kube/memory/api_error.h"

namespace tidemark::kube::memory {

// Drops nulls, unknown fields and empty optional lists and maps; puts quantities in canonical form. Answers the paths
// of fields it did not know ("spec.containers[0].imagee"). A value of a wrong type is 400 in the words of Go's decoder.
Answer<std::vector<std::string>> decode_typed(Json& tree, const BuiltinType& type);

// Fills in defaults at every depth.
void apply_defaults(Json& tree, const BuiltinType& type);

}  // namespace tidemark::kube::memory
