// Turns native resources of an offline pod into batch or mid resources (contract 2, 11.2).
#pragma once

#include <string>

#include "base/json.h"
#include "model/qos.h"

namespace tidemark::policy::admission {

// For init and normal containers, requests and limits:
//
//   cpu    → kubernetes.io/<class>-cpu, in whole milli-cores (rounded up)      "1500m" → "1500"
//   memory → kubernetes.io/<class>-memory, the same amount                     "2Gi"   → "2Gi"
//   a translated limit without a request gives request = limit; the native names are removed
//
// The same for spec.overhead, if `overhead` is true. prod, none and free: no change. `pod` passed check_pod().
void translate_resources(Json& pod, model::PriorityClass priority, bool overhead);

// The value of the annotation extended-resource-spec: what normal containers request of batch-cpu and batch-memory,
// without containers that request none, names in ascending order. "" if no container requests any.
std::string extended_resource_spec(const Json& pod);

}  // namespace tidemark::policy::admission
