#include "policy/admission/translate.h"

#include <map>
#include <string_view>
#include <utility>

#include "model/names.h"
#include "model/quantity.h"
#include "policy/admission/pod_json.h"

namespace tidemark::policy::admission {
namespace {

using model::Quantity;

struct Names {
  std::string_view cpu;
  std::string_view memory;
};

Names names_of(model::PriorityClass priority) {
  if (priority == model::PriorityClass::kBatch) return {model::kBatchCpu, model::kBatchMemory};
  if (priority == model::PriorityClass::kMid) return {model::kMidCpu, model::kMidMemory};
  return {};
}

void rename(Json& amounts, std::string_view native, std::string_view extended) {
  const Json* value = amounts.member(native);
  if (value == nullptr) return;
  Quantity amount = Quantity::from_json(*value).value_or(Quantity());
  if (native == "cpu") amount = Quantity::of(amount.scaled_value_saturated(-3));
  amounts.as_object().erase(native);
  amounts.as_object().set(extended, Json(amount.canonical()));
}

void rename_both(Json* amounts, const Names& names) {
  if (amounts == nullptr) return;
  rename(*amounts, "cpu", names.cpu);
  rename(*amounts, "memory", names.memory);
}

void request_what_is_limited(Json& container, std::string_view name) {
  const Json* limits = container_amounts(std::as_const(container), "limits");
  const Json* limit = limits == nullptr ? nullptr : limits->member(name);
  if (limit == nullptr) return;
  const Json* requests = container_amounts(std::as_const(container), "requests");
  if (requests != nullptr && requests->member(name) != nullptr) return;
  const Json value = *limit;  // creating the requests may move what `limit` points to
  (*container_amounts(container, "requests", true))[name] = value;
}

Json* list_of(Json& pod, std::string_view key) {
  Json* spec = pod.is_object() ? pod.as_object().find("spec") : nullptr;
  Json* list = spec != nullptr && spec->is_object() ? spec->as_object().find(key) : nullptr;
  return list != nullptr && (list->is_array() || list->is_object()) ? list : nullptr;
}

Json batch_part(const Json& container, std::string_view list) {
  Json part = Json::object();
  const Json* amounts = container_amounts(container, list);
  for (const auto name : {model::kBatchCpu, model::kBatchMemory}) {
    const Json* value = amounts == nullptr ? nullptr : amounts->member(name);
    if (value != nullptr) part[name] = Json(Quantity::from_json(*value).value_or(Quantity()).canonical());
  }
  return part;
}

}  // namespace

void translate_resources(Json& pod, model::PriorityClass priority, bool overhead) {
  const Names names = names_of(priority);
  if (names.cpu.empty()) return;
  for (const auto key : {"initContainers", "containers"}) {
    Json* list = list_of(pod, key);
    if (list == nullptr) continue;
    for (Json& container : list->as_array()) {
      rename_both(container_amounts(container, "requests", false), names);
      rename_both(container_amounts(container, "limits", false), names);
      request_what_is_limited(container, names.cpu);
      request_what_is_limited(container, names.memory);
    }
  }
  if (overhead) rename_both(list_of(pod, "overhead"), names);
}

std::string extended_resource_spec(const Json& pod) {
  const Json* list = pod.at("spec", "containers");
  if (list == nullptr || !list->is_array()) return "";
  std::map<std::string_view, Json> containers;
  for (const Json& container : list->as_array()) {
    Json entry = Json::object();
    for (const auto part : {"limits", "requests"}) {
      Json amounts = batch_part(container, part);
      if (!amounts.as_object().empty()) entry[part] = std::move(amounts);
    }
    if (!entry.as_object().empty()) containers[container.text_at("name")] = std::move(entry);
  }
  if (containers.empty()) return "";
  Json spec = Json::object();
  for (auto& [name, entry] : containers) spec["containers"][name] = std::move(entry);
  return spec.dump();
}

}  // namespace tidemark::policy::admission
