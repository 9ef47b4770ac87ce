// Of a pod's spec only a few fields may change once it exists, and those in one direction.
#pragma once

#include "base/json.h"
#include "kube/memory/validation.h"

namespace tidemark::kube::memory {

void check_pod_update(const Json& before, const Json& after, Causes& causes);

}  // namespace tidemark::kube::memory
