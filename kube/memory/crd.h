// CustomResourceDefinitions: what makes one valid, and the kind that it defines.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/memory/kinds.h"
#include "kube/memory/validation.h"

namespace tidemark::kube::memory {

class Registry;

// Held by a definition while it is deleted, until its objects are gone.
inline constexpr std::string_view kCrdCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

// Completes names and status and checks it all. `before` is null on create; `now` is RFC 3339.
void prepare_crd(Json& tree, const Json* before, const Registry& registry, std::string_view now, Causes& causes);

// What a definition may call its kind, by the names that the others of its group hold: status.acceptedNames and the
// conditions NamesAccepted and Established. A definition is established, at once, when all its names were accepted, and
// stays so: what it is called by then is what was accepted.
void accept_names(Json& tree, const std::vector<Json>& others, std::string_view now);
bool condition_holds(const Json& tree, std::string_view type);

// By its accepted names. Null where the definition does not make a kind (never for one that prepare_crd found valid).
KindPtr kind_from_crd(const Json& tree);

}  // namespace tidemark::kube::memory
