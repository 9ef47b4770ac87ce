#include "copilot/container.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/names.h"
#include "model/quantity.h"

namespace tidemark::copilot {
namespace {

using base::JsonReader;
using model::TaskAmounts;

constexpr const char* kTooLong = "a text that is longer than a copilot may say";
constexpr const char* kTooMany = "more containers than a node can have";

void read_text(JsonReader& json, std::string& out) {
  json.string(out);
  if (json.ok() && out.size() > kTextBytesMax) json.fail_here(kTooLong);
}

void read_labels(JsonReader& json, Container& out) {
  out.labels.clear();
  json.object([&](std::string_view key) {
    if (key.size() > kTextBytesMax) return json.fail_here(kTooLong);
    std::string name(key), value;
    read_text(json, value);
    if (out.labels.size() < kLabelsMax) out.labels.emplace_back(std::move(name), std::move(value));
  });
}

void read_held(JsonReader& json, Container& out) {
  out.held.clear();
  json.array([&] {
    HeldOnDisk one;
    std::int64_t device = 0;
    json.object([&](std::string_view key) {
      if (key == "device") {
        json.integer(device);
      } else if (key == "bytes") {
        json.integer(one.bytes);
      } else if (key == "inodes") {
        json.integer(one.inodes);
      } else {
        json.skip();
      }
    });
    if (json.ok() && (device < 0 || one.bytes < 0 || one.inodes < 0)) json.fail_here("an amount below zero");
    one.device = static_cast<std::uint64_t>(device);
    if (out.held.size() < kHeldDisksMax) out.held.push_back(one);
  });
}

struct Amount {
  std::string_view name;
  model::SaidAmounts TaskAmounts::* part;
  bool cpu;
  int scale;  // of cpu: batch-cpu is milli-cores by its own definition
};
constexpr std::array kAmounts{
    Amount{"cpu", &TaskAmounts::native, true, -3},          Amount{"memory", &TaskAmounts::native, false, 0},
    Amount{model::kBatchCpu, &TaskAmounts::batch, true, 0}, Amount{model::kBatchMemory, &TaskAmounts::batch, false, 0},
    Amount{model::kMidCpu, &TaskAmounts::mid, true, 0},     Amount{model::kMidMemory, &TaskAmounts::mid, false, 0}};

void read_amounts(JsonReader& json, TaskAmounts& out) {
  out = {};
  json.object([&](std::string_view key) {
    const auto found = std::ranges::find(kAmounts, key, &Amount::name);
    if (found == kAmounts.end()) {
      json.skip();
      return;
    }
    std::string_view raw;
    if (!json.raw(raw)) return;
    const auto quantity = model::Quantity::from_json_text(raw);
    if (!quantity) return json.fail_here("wanted a quantity like 500m or 2Gi");
    const std::int64_t amount = quantity->scaled_value_saturated(found->scale);
    if (amount < 0) return json.fail_here("an amount below zero");
    if (found->cpu) {
      (out.*(found->part)).cpu = model::CpuMilli{amount};
    } else {
      (out.*(found->part)).memory = model::MemoryBytes{amount};
    }
  });
}

void read_created(JsonReader& json, Container& out) {
  std::string text;
  read_text(json, text);
  if (!json.ok() || text.empty() || text.starts_with("0001-")) return;  // Go's zero
  out.created = base::parse_rfc3339(text);
  if (!out.created) json.fail_here("wanted a time like 2026-01-02T03:04:05Z");
}

void read(JsonReader& json, Container& out) {
  json.object([&](std::string_view key) {
    if (key == "name") {
      read_text(json, out.name);
    } else if (key == "namespace") {
      read_text(json, out.ns);
    } else if (key == "uid") {
      read_text(json, out.uid);
    } else if (key == "cgroupDir") {
      read_text(json, out.group);
    } else if (key == "labels") {
      read_labels(json, out);
    } else if (key == "priority") {
      std::int64_t priority = 0;
      if (json.peek() == JsonReader::Type::kNull) {
        json.skip();
      } else if (json.integer(priority)) {
        out.priority = priority;
      }
    } else if (key == "createTimestamp") {
      read_created(json, out);
    } else if (key == "heldOnDisks") {
      read_held(json, out);
    } else if (key == "hostNetwork") {
      json.boolean(out.host_network);
    } else if (key == "resources") {
      json.object([&](std::string_view side) {
        if (side == "requests") {
          read_amounts(json, out.requests);
        } else if (side == "limits") {
          read_amounts(json, out.limits);
        } else {
          json.skip();
        }
      });
    } else {
      json.skip();
    }
  });
}

void read_list(JsonReader& json, std::vector<Container>& out) {
  out.clear();
  json.array([&] {
    if (out.size() == kContainersMax) return json.fail_here(kTooMany);
    read(json, out.emplace_back());
  });
}

Result<void> finish(JsonReader& json, std::string_view what) {
  auto end = json.finish();
  return end ? end : fail(std::move(end).error().within(what));
}

// Names the container, if its name was read before the error.
std::string place_of(const Container& container, std::size_t at) {
  if (container.name.empty()) return base::cat("a copilot's container at ", at);
  return base::cat("a copilot's container ",
                   base::in_quotes(std::string_view(container.name).substr(0, model::kTaskNameBytesMax)));
}

void write_amounts(base::JsonWriter& writer, std::string_view side, const TaskAmounts& amounts) {
  writer.key(side).begin_object();
  for (const Amount& each : kAmounts) {
    const model::SaidAmounts& said = amounts.*(each.part);
    if (each.cpu && said.cpu) {
      writer.member(each.name, model::Quantity::of_scaled(said.cpu->value, each.scale).canonical());
    } else if (!each.cpu && said.memory) {
      writer.member(each.name, model::Quantity::of(said.memory->value).canonical());
    }
  }
  writer.end_object();
}

}  // namespace

std::string_view Container::label(std::string_view key) const {
  for (const auto& [label_key, value] : labels) {
    if (label_key == key) return value;
  }
  return {};
}

Result<ContainerList> read_containers(std::string_view bytes) {
  ContainerList out;
  JsonReader json(bytes);
  json.array([&] {
    const std::size_t at = out.containers.size() + out.refused.size();
    if (at == kContainersMax) return json.fail_here(kTooMany);
    std::string_view raw;
    if (!json.raw(raw)) return;
    JsonReader one(raw);
    Container container;
    read(one, container);
    if (auto end = one.finish()) {
      out.containers.push_back(std::move(container));
    } else {
      out.refused.push_back(std::move(end).error().within(place_of(container, at)));
    }
  });
  TM_TRY_VOID(finish(json, "a copilot's containers"));
  return out;
}

Result<Container> read_container(std::string_view bytes) {
  Container out;
  JsonReader json(bytes);
  read(json, out);
  TM_TRY_VOID(finish(json, "a copilot's container"));
  if (out.name.empty()) return fail(ErrorKind::kInvalid, "a copilot's container: it has no name");
  return out;
}

Result<std::vector<Container>> read_items(std::string_view bytes) {
  std::vector<Container> out;
  JsonReader json(bytes);
  json.object([&](std::string_view key) {
    if (key == "items") {
      read_list(json, out);
    } else {
      json.skip();
    }
  });
  TM_TRY_VOID(finish(json, "what a copilot killed"));
  return out;
}

Result<Information> read_information(std::string_view bytes) {
  Information out;
  JsonReader json(bytes);
  json.object([&](std::string_view key) {
    if (key == "name") {
      read_text(json, out.name);
    } else if (key == "version") {
      read_text(json, out.version);
    } else {
      json.skip();
    }
  });
  TM_TRY_VOID(finish(json, "a copilot's information"));
  if (out.name.empty()) return fail(ErrorKind::kInvalid, "a copilot's information: it has no name");
  return out;
}

void write(base::JsonWriter& writer, const Container& container) {
  writer.begin_object();
  writer.member("name", container.name).member("namespace", container.ns).member("uid", container.uid);
  writer.key("labels");
  if (container.labels.empty()) {
    writer.null();
  } else {
    writer.begin_object();
    for (const auto& [key, value] : container.labels) writer.member(key, value);
    writer.end_object();
  }
  writer.key("annotations").null();
  if (container.priority) writer.member("priority", *container.priority);
  writer.member("createTimestamp",
                container.created ? base::format_rfc3339(*container.created) : std::string("0001-01-01T00:00:00Z"));
  writer.member("cgroupDir", container.group).member("hostNetwork", container.host_network);
  writer.key("resources").begin_object();
  write_amounts(writer, "limits", container.limits);
  write_amounts(writer, "requests", container.requests);
  writer.end_object();
  if (!container.held.empty()) {
    writer.key("heldOnDisks").begin_array();
    for (const HeldOnDisk& each : container.held) {
      writer.begin_object()
          .member("device", static_cast<std::int64_t>(each.device))
          .member("bytes", each.bytes)
          .member("inodes", each.inodes)
          .end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

}  // namespace tidemark::copilot
