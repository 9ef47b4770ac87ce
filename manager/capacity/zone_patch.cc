#include "manager/capacity/zone_patch.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "manager/capacity/capacity_patch.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

class JsonPatch {
 public:
  JsonPatch() { json_.begin_array(); }
  std::string take() {
    json_.end_array();
    return std::move(out_);
  }

  void text(std::string_view op, std::string_view path, std::string_view value) {
    begin(op, path).value(value);
    json_.end_object();
  }
  // `value` is JSON.
  void raw(std::string_view op, std::string_view path, std::string_view value) {
    begin(op, path).raw(value);
    json_.end_object();
  }

 private:
  base::JsonWriter& begin(std::string_view op, std::string_view path) {
    json_.begin_object().member("op", op).member("path", path);
    return json_.key("value");
  }

  std::string out_;
  base::JsonWriter json_{out_};
};

std::string resource_json(std::string_view name, std::string_view amount) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object().member("name", name).member("capacity", amount).member("allocatable", amount);
  json.member("available", amount).end_object();
  return out;
}

void write_epoch(JsonPatch& patch, const ZoneWrite& write) {
  const std::string epoch = base::cat(write.epoch);
  if (write.decided_on.has_annotations) {
    patch.text("add", "/metadata/annotations/tidemark.io~1capacity-epoch", epoch);
    return;
  }
  std::string annotations;
  base::JsonWriter json(annotations);
  json.begin_object().member(kEpochAnnotation, std::string_view(epoch)).end_object();
  patch.raw("add", "/metadata/annotations", annotations);
}

// The names of a zone's resources as the patch leaves them, operation by operation.
class ZoneList {
 public:
  explicit ZoneList(const kube::Zone& zone) : exists_(zone.has_resources) {
    for (const auto& resource : zone.resources) names_.emplace_back(resource.name.view());
  }

  bool exists() const { return exists_; }
  // Of two of a name the last one is what was read.
  std::size_t place_of(std::string_view name) const {
    const auto at = std::find(names_.rbegin(), names_.rend(), name);
    return static_cast<std::size_t>(names_.rend() - at) - 1;
  }
  // Sorted by name, like all writers do.
  std::size_t insert(std::string_view name) {
    const auto at = std::find_if(names_.begin(), names_.end(), [&](const auto& each) { return each > name; });
    const auto place = static_cast<std::size_t>(at - names_.begin());
    names_.insert(at, std::string(name));
    exists_ = true;
    return place;
  }

 private:
  bool exists_;
  std::vector<std::string> names_;
};

}  // namespace

std::string zone_patch(const ZoneWrite& write) {
  JsonPatch patch;
  patch.text("replace", "/metadata/resourceVersion", write.decided_on.meta.resource_version);
  write_epoch(patch, write);

  std::vector<ZoneList> lists;
  for (const kube::Zone& zone : write.decided_on.zones) lists.emplace_back(zone);
  for (const policy::sell::ZoneChange& change : write.changes) {
    const policy::sell::ZonePlan& zone = write.wanted.zones[change.zone];
    const std::string_view name = change.is_cpu ? model::kBatchCpu : model::kBatchMemory;
    const std::string amount = (change.is_cpu ? policy::sell::zone_quantity(zone.batch_cpu)
                                              : policy::sell::zone_quantity(zone.batch_memory, zone.memory_format))
                                   .canonical();
    ZoneList& list = lists[change.zone];
    const std::string path = base::cat("/zones/", change.zone, "/resources");
    if (change.added) {
      if (!list.exists()) patch.raw("add", path, "[]");
      patch.raw("add", base::cat(path, "/", list.insert(name)), resource_json(name, amount));
      continue;
    }
    const std::string resource = base::cat(path, "/", list.place_of(name), "/");
    if (change.capacity) patch.text("replace", resource + "capacity", amount);
    if (change.allocatable) patch.text("replace", resource + "allocatable", amount);
    if (change.available) patch.text("replace", resource + "available", amount);
  }
  return patch.take();
}

}  // namespace tidemark::manager
