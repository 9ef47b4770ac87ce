#include "agent/report/node_size.h"

#include <utility>

#include "base/json.h"
#include "kube/convert.h"
#include "model/names.h"
#include "model/quantity.h"

namespace tidemark::agent {
namespace {

// A resource list; resources that it does not name come from the status.
Result<model::Resources> parse_raw(std::string_view text, model::Resources status) {
  TM_TRY(const auto list, Json::parse(text));
  if (!list.is_object()) return base::fail(ErrorKind::kInvalid, "wanted an object of quantities");
  if (const Json* cpu = list.member("cpu"); cpu != nullptr && !cpu->is_null()) {
    TM_TRY(const auto quantity, model::Quantity::from_json(*cpu));
    status.cpu = model::cpu_milli(quantity);
  }
  if (const Json* memory = list.member("memory"); memory != nullptr && !memory->is_null()) {
    TM_TRY(const auto quantity, model::Quantity::from_json(*memory));
    status.memory = model::memory_bytes(quantity);
  }
  return status;
}

}  // namespace

NodeSize node_size(const kube::Node& node) {
  NodeSize size;
  size.capacity = kube::native_resources(node.capacity);
  size.allocatable = kube::native_resources(node.allocatable);
  const auto* raw = node.meta.annotations.find(model::kRawAllocatableAnnotation);
  if (raw == nullptr) return size;
  auto read = parse_raw(raw->view(), size.allocatable);
  if (read) {
    size.allocatable = *read;
  } else {
    size.unreadable = std::move(read).error().within(model::kRawAllocatableAnnotation);
  }
  return size;
}

}  // namespace tidemark::agent
