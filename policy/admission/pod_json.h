// A pod as the API server sends it, read and edited in place: an admission patch must contain every change, so no part
// of the pod may be lost.
//
// Call check_pod() first. The other functions take a pod that passed it, and cannot fail.
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

namespace tidemark::policy::admission {

inline constexpr std::string_view kLabels = "labels";
inline constexpr std::string_view kAnnotations = "annotations";

// Checks that every member that is read here has its type, and that every quantity can be read. The error gives the
// place: "spec.containers[1].resources.requests.cpu: …".
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
// What the labels of a pod say, without defaults.
bool is_offline(const PodClasses& classes);

// What the pod requests of one resource: max(Σ containers, max of init containers) + overhead, as Koordinator's webhook
// sums it (no sidecars, no pod level).
model::Quantity pod_request(const Json& pod, std::string_view resource);

// A container's resource amounts by name. If they are missing they are created, or the result is null if `make` is
// false. `list` is "requests" or "limits".
Json* container_amounts(Json& container, std::string_view list, bool make);
const Json* container_amounts(const Json& container, std::string_view list);

}  // namespace tidemark::policy::admission
