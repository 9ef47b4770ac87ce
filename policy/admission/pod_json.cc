#include "policy/admission/pod_json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/text.h"
#include "model/names.h"
#include "model/pod.h"
#include "model/resources.h"

namespace tidemark::policy::admission {
namespace {

using base::cat;
using model::Quantity;

constexpr std::size_t kMembersMax = 1000;  // of the pod, its metadata and its spec
constexpr std::string_view kContainerLists[] = {"initContainers", "containers"};
constexpr std::string_view kAmountLists[] = {"requests", "limits"};

// nullptr if it is absent or null, as in Go's decoder.
const Json* member(const Json& object, std::string_view key) {
  const Json* found = object.member(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::unexpected<Error> wrong(std::string_view place, std::string_view wanted, const Json& found) {
  return fail(ErrorKind::kInvalid, place, ": wanted ", wanted, ", found ", base::in_quotes(found.dump()));
}

Result<const Json*> object_at(const Json& parent, std::string_view key, std::string_view place) {
  const Json* found = member(parent, key);
  if (found != nullptr && !found->is_object()) return wrong(place, "an object", *found);
  return found;
}

// Kubernetes has a few dozen members in each of these; more only slow us down.
Result<void> check_size(const Json* object, std::string_view place) {
  if (object == nullptr || object->as_object().size() <= kMembersMax) return {};
  return fail(ErrorKind::kInvalid, place, ": ", object->as_object().size(), " members, at most ", kMembersMax);
}

Result<void> check_texts(const Json& metadata, std::string_view key) {
  TM_TRY(const Json* texts, object_at(metadata, key, cat("metadata.", key)));
  if (texts == nullptr) return {};
  for (const auto& [name, value] : texts->as_object()) {
    if (!value.is_string()) return wrong(cat("metadata.", key, ".", name), "a string", value);
  }
  return {};
}

Result<void> check_text(const Json& parent, std::string_view key, std::string_view place) {
  const Json* found = member(parent, key);
  if (found != nullptr && !found->is_string()) return wrong(place, "a string", *found);
  return {};
}

Result<void> check_amounts(const Json& parent, std::string_view key, std::string_view place) {
  TM_TRY(const Json* amounts, object_at(parent, key, place));
  if (amounts == nullptr) return {};
  for (const auto& [name, value] : amounts->as_object()) {
    if (auto read = Quantity::from_json(value); !read)
      return fail(std::move(read).error().within(cat(place, ".", name)));
  }
  return {};
}

Result<void> check_resources(const Json& parent, std::string_view place) {
  TM_TRY(const Json* resources, object_at(parent, "resources", place));
  if (resources == nullptr) return {};
  for (const auto list : kAmountLists) TM_TRY_VOID(check_amounts(*resources, list, cat(place, ".", list)));
  return {};
}

Result<void> check_containers(const Json& spec, std::string_view key) {
  const Json* list = member(spec, key);
  if (list == nullptr) return {};
  if (!list->is_array()) return wrong(cat("spec.", key), "an array", *list);
  for (std::size_t i = 0; i < list->as_array().size(); ++i) {
    const Json& container = list->as_array()[i];
    const std::string place = cat("spec.", key, "[", i, "]");
    if (!container.is_object()) return wrong(place, "an object", container);
    TM_TRY_VOID(check_text(container, "name", place + ".name"));
    TM_TRY_VOID(check_resources(container, place + ".resources"));
  }
  return {};
}

Quantity amount(const Json* amounts, std::string_view resource) {
  const Json* value = amounts == nullptr ? nullptr : member(*amounts, resource);
  if (value == nullptr) return {};
  return Quantity::from_json(*value).value_or(Quantity());
}

model::Resources native(const Json* amounts) {
  return {model::cpu_milli(amount(amounts, "cpu")), model::memory_bytes(amount(amounts, "memory"))};
}

const Json::Array& containers_of(const Json& pod, std::string_view key) {
  static const Json::Array kNone;
  const Json* list = pod.at("spec", key);
  return list != nullptr && list->is_array() ? list->as_array() : kNone;
}

model::PodLevelResources pod_level(const Json& resources) {
  model::PodLevelResources level;
  const auto set = [&](std::string_view list, auto& cpu, auto& memory) {
    const Json* amounts = member(resources, list);
    if (amounts == nullptr) return;
    if (amounts->member("cpu") != nullptr) cpu = native(amounts).cpu;
    if (amounts->member("memory") != nullptr) memory = native(amounts).memory;
  };
  set("requests", level.cpu_request, level.memory_request);
  set("limits", level.cpu_limit, level.memory_limit);
  return level;
}

model::KubeQos kube_qos_of(const Json& pod) {
  if (const auto told = model::parse_kube_qos(pod.text_at("status", "qosClass"))) return *told;
  model::PodResources resources;
  const auto collect = [&](std::string_view key, std::vector<model::ContainerResources>& out) {
    for (const Json& container : containers_of(pod, key)) {
      out.push_back({native(container_amounts(container, "requests")), native(container_amounts(container, "limits"))});
    }
  };
  collect("containers", resources.containers);
  collect("initContainers", resources.init_containers);
  if (const Json* level = pod.at("spec", "resources"); level != nullptr && level->is_object()) {
    resources.pod_level = pod_level(*level);
  }
  return model::kube_qos(resources);
}

}  // namespace

Result<void> check_pod(const Json& pod) {
  if (!pod.is_object()) return wrong("pod", "an object", pod);
  TM_TRY_VOID(check_size(&pod, "pod"));
  TM_TRY(const Json* metadata, object_at(pod, "metadata", "metadata"));
  TM_TRY_VOID(check_size(metadata, "metadata"));
  if (metadata != nullptr) {
    for (const auto key : {"name", "generateName", "namespace", "uid", "resourceVersion", "deletionTimestamp"}) {
      TM_TRY_VOID(check_text(*metadata, key, cat("metadata.", key)));
    }
    TM_TRY_VOID(check_texts(*metadata, kLabels));
    TM_TRY_VOID(check_texts(*metadata, kAnnotations));
  }
  TM_TRY_VOID(object_at(pod, "status", "status"));
  TM_TRY(const Json* spec, object_at(pod, "spec", "spec"));
  if (spec == nullptr) return {};
  TM_TRY_VOID(check_size(spec, "spec"));
  for (const auto key : {"nodeName", "schedulerName", "priorityClassName", "preemptionPolicy", "runtimeClassName"}) {
    TM_TRY_VOID(check_text(*spec, key, cat("spec.", key)));
  }
  if (const Json* priority = member(*spec, "priority")) {
    const auto value = priority->get_int();
    if (!value || *value < std::numeric_limits<std::int32_t>::min() ||
        *value > std::numeric_limits<std::int32_t>::max()) {
      return wrong("spec.priority", "a whole number of 32 bits", *priority);
    }
  }
  for (const auto key : kContainerLists) TM_TRY_VOID(check_containers(*spec, key));
  TM_TRY_VOID(check_amounts(*spec, "overhead", "spec.overhead"));
  return check_resources(*spec, "spec.resources");
}

std::optional<std::string_view> pod_text(const Json& pod, std::string_view map, std::string_view key) {
  const Json* texts = pod.at("metadata", map);
  const Json* value = texts == nullptr ? nullptr : texts->member(key);
  return value == nullptr ? std::nullopt : value->get_string();
}

void set_pod_text(Json& pod, std::string_view map, std::string_view key, std::string_view value) {
  pod["metadata"][map][key] = Json(value);
}

std::vector<model::Label> pod_labels(const Json& pod) {
  std::vector<model::Label> labels;
  if (const Json* texts = pod.at("metadata", kLabels); texts != nullptr && texts->is_object()) {
    for (const auto& [key, value] : texts->as_object()) {
      labels.push_back({key, std::string(value.get_string().value_or(""))});
    }
  }
  return labels;
}

PodClasses pod_classes(const Json& pod) {
  std::optional<std::int32_t> priority;
  if (const Json* value = pod.at("spec", "priority"); value != nullptr && value->is_int()) {
    priority = static_cast<std::int32_t>(value->as_int());
  }
  PodClasses classes;
  classes.raw_qos = model::parse_qos(pod_text(pod, kLabels, model::kQosClassLabel).value_or(""));
  classes.raw_priority = model::priority_class_raw(pod_text(pod, kLabels, model::kPriorityClassLabel), priority);
  classes.priority = model::priority_class_with_default(classes.raw_priority,
                                                        model::qos_with_default(classes.raw_qos, kube_qos_of(pod)));
  return classes;
}

bool is_offline(const PodClasses& classes) {
  return model::is_offline(classes.raw_qos, classes.raw_priority);
}

Quantity pod_request(const Json& pod, std::string_view resource) {
  Quantity sum;
  for (const Json& container : containers_of(pod, "containers")) {
    sum += amount(container_amounts(container, "requests"), resource);
  }
  for (const Json& container : containers_of(pod, "initContainers")) {
    sum = std::max(sum, amount(container_amounts(container, "requests"), resource));
  }
  return sum + amount(pod.at("spec", "overhead"), resource);
}

Json* container_amounts(Json& container, std::string_view list, bool make) {
  if (!make) {
    const Json* found = container_amounts(std::as_const(container), list);
    return const_cast<Json*>(found);  // NOLINT(cppcoreguidelines-pro-type-const-cast): of a container that may change
  }
  return &container["resources"][list];
}

const Json* container_amounts(const Json& container, std::string_view list) {
  const Json* resources = member(container, "resources");
  return resources == nullptr ? nullptr : member(*resources, list);
}

}  // namespace tidemark::policy::admission
