// A pod as the API server sends it, read and edited in place: an admission patch must name every change, so nothing of
// the pod may be lost on the way.
//
// check_pod() comes first. The other functions take a pod that passed it, and are total then.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/qos.h"
#include "model/quantity.h"
#include "model/selector.h"

namespace tidemark::policy {

inline constexpr std::string_view kLabels = "labels";
inline constexpr std::string_view kAnnotations = "annotations";

// Every member that is read here has the type it must have, and every quantity can be read. The error names the place:
// "spec.containers[1].resources.requests.cpu: …".
Result<void> check_pod(const Json& pod);

// `map` is kLabels or kAnnotations.
std::optional<std::string_view> pod_text(const Json& pod, std::string_view map, std::string_view key);
void set_pod_text(Json& pod, std::string_view map, std::string_view key, std::string_view value);
std::vector<model::Label> pod_labels(const Json& pod);

// Both readers of contract 1.1, 1.2: raw, and with default.
struct PodClasses {
  model::Qos raw_qos = model::Qos::kNone;
  model::PriorityClass raw_priority = model::PriorityClass::kNone;
  model::PriorityClass priority = model::PriorityClass::kNone;  // with default
};
PodClasses pod_classes(const Json& pod);
// What a pod says of itself: not what it counts as when it says nothing.
bool is_offline(const PodClasses& classes);

// What the pod requests of one resource: max(Σ containers, max of init containers) + overhead, as Koordinator's webhook
// sums it (no sidecars, no pod level).
model::Quantity pod_request(const Json& pod, std::string_view resource);

// A container's resource amounts by name, made where they are missing; null where they are and `make` is false.
// `list` is "requests" or "limits".
Json* container_amounts(Json& container, std::string_view list, bool make);
const Json* container_amounts(const Json& container, std::string_view list);

}  // namespace tidemark::policy
