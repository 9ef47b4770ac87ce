#include "kube/node_resource_topology.h"

#include <utility>

#include "kube/objects_decode.h"
#include "model/annotations.h"
#include "model/names.h"

namespace tidemark::kube {
namespace {

using Type = base::JsonReader::Type;

bool is_read(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == model::kBatchCpu || resource == model::kBatchMemory;
}

void read_milli(Decoder& decoder, std::int64_t& milli, model::Quantity::Format* format) {
  const Type type = decoder.reader().peek();
  if (type != Type::kString && type != Type::kNumber && type != Type::kNull && type != Type::kError) {
    return decoder.fail("wanted a quantity like 500m or 2Gi, found another kind of value");
  }
  std::string_view raw;
  decoder.raw(raw);
  if (!decoder.ok()) return;
  const auto quantity = model::Quantity::from_json_text(raw);
  if (!quantity) return decoder.fail(quantity.error().message);
  milli = quantity->scaled_value_saturated(-3);
  if (format != nullptr) *format = quantity->format();
}

void read_zone_resource(Decoder& decoder, ZoneResource& resource) {
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.interned(resource.name);
    } else if (key == "capacity") {
      read_milli(decoder, resource.capacity_milli, nullptr);
    } else if (key == "allocatable") {
      read_milli(decoder, resource.allocatable_milli, &resource.format);
    } else if (key == "available") {
      read_milli(decoder, resource.available_milli, nullptr);
    } else {
      decoder.skip();
    }
  });
  if (!is_read(resource.name)) resource = {std::move(resource.name), 0, 0, 0, model::Quantity::Format::kDecimalSI};
}

void read_zone(Decoder& decoder, Zone& zone) {
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.interned(zone.name);
    } else if (key == "resources") {
      zone.has_resources = decoder.reader().peek() != Type::kNull;
      read_vector(decoder, zone.resources, [&](ZoneResource& each) { read_zone_resource(decoder, each); });
    } else {
      decoder.skip();
    }
  });
}

// Whether the object has annotations at all: its other members are passed over.
bool find_annotations(std::string_view bytes, Interner& interner) {
  Decoder decoder(bytes, interner);
  bool found = false;
  decoder.object([&](std::string_view key) {
    if (key != "metadata") return decoder.skip();
    decoder.object([&](std::string_view member) {
      if (member == "annotations") found = decoder.reader().peek() == Type::kObject;
      decoder.skip();
    });
  });
  return found;
}

template <class Fine>
model::ZoneAmounts<Fine> amounts_of(const ZoneResource& resource) {
  return {{resource.capacity_milli}, {resource.allocatable_milli}, {resource.available_milli}};
}

}  // namespace

std::size_t Zone::bytes() const {
  std::size_t total = name.bytes() + allocated_bytes(resources.capacity() * sizeof(ZoneResource));
  for (const ZoneResource& resource : resources) total += resource.bytes();
  return total;
}

std::size_t NodeResourceTopology::bytes() const {
  std::size_t total = sizeof *this + meta.bytes() + allocated_bytes(zones.capacity() * sizeof(Zone));
  for (const Zone& zone : zones) total += zone.bytes();
  return total;
}

Result<NodeResourceTopology> decode_node_resource_topology(std::string_view bytes, const MetaFields& fields,
                                                           Interner& interner) {
  Decoder decoder(bytes, interner);
  KindCheck check(decoder, "NodeResourceTopology");
  NodeResourceTopology topology;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields, topology.meta);
    } else if (key == "zones") {
      read_vector(decoder, topology.zones, [&](Zone& zone) { read_zone(decoder, zone); });
    } else if (!check.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(check.finish(topology.meta));
  topology.has_annotations = !topology.meta.annotations.empty() || find_annotations(bytes, interner);
  return topology;
}

model::TopologyView to_topology_view(const NodeResourceTopology& topology, std::vector<std::string>& notes) {
  model::TopologyView view;
  if (const auto* text = topology.meta.annotations.find(model::kCpuBasicInfoAnnotation)) {
    auto info = model::parse_cpu_basic_info(text->view());
    if (info) {
      view.cpu = std::move(*info);
    } else {
      view.cpu_info_unreadable = true;
      notes.push_back(base::cat("annotation ", model::kCpuBasicInfoAnnotation,
                                " of the NodeResourceTopology: ", info.error().message));
    }
  }
  view.zones.reserve(topology.zones.size());
  for (const Zone& zone : topology.zones) {
    model::ZoneView& out = view.zones.emplace_back();
    out.name = zone.name.view();
    for (const ZoneResource& resource : zone.resources) {
      if (resource.name == "cpu") {
        out.cpu = model::CpuMilli{resource.allocatable_milli};
      } else if (resource.name == "memory") {
        out.memory = model::MemoryMilli{resource.allocatable_milli};
        out.memory_format = resource.format;
      } else if (resource.name == model::kBatchCpu) {
        out.batch_cpu = amounts_of<model::CpuMicro>(resource);
      } else if (resource.name == model::kBatchMemory) {
        out.batch_memory = amounts_of<model::MemoryMilli>(resource);
      }
    }
  }
  return view;
}

}  // namespace tidemark::kube
