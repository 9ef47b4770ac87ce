// Native resources of an offline pod become batch or mid resources (contract 2, 11.2).
#pragma once

#include <string>

#include "base/json.h"
#include "model/qos.h"

namespace tidemark::policy {

// For init and normal containers, requests and limits:
//
//   cpu    → kubernetes.io/<class>-cpu, in whole milli-cores (rounded up)      "1500m" → "1500"
//   memory → kubernetes.io/<class>-memory, the same amount                     "2Gi"   → "2Gi"
//   a translated limit without a request gives request = limit; the native names go away
//
// spec.overhead as well, where `overhead` is true. prod, none and free: nothing. `pod` passed check_pod().
void translate_resources(Json& pod, model::PriorityClass priority, bool overhead);

// The value of the annotation extended-resource-spec: what normal containers ask for of batch-cpu and batch-memory,
// containers without left out, names in ascending order. "" where no container asks.
std::string extended_resource_spec(const Json& pod);

}  // namespace tidemark::policy
