// CustomResourceDefinitions: what makes one valid, and the kind that it defines.
#pragma once

#include <string_view>

#include "base/json.h"
#include "kube/memory/kinds.h"
#include "kube/memory/validation.h"

namespace tidemark::kube::memory {

class Registry;

// Held by a definition while it is deleted, until its objects are gone.
inline constexpr std::string_view kCrdCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// Completes names and status (it is established at once) and checks it all. `before` is null on create.
void prepare_crd(Json& tree, const Json* before, const Registry& registry, Causes& causes);

// Null where the definition does not make a kind (never for one that prepare_crd found valid).
KindPtr kind_from_crd(const Json& tree);

}  // namespace tidemark::kube::memory
