#include "model/annotations.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/cpu_list.h"
#include "model/names.h"

namespace tidemark::model {
namespace {

// nullopt if the member is absent or null.
Result<std::optional<Quantity>> quantity_member(const Json& object, std::string_view name) {
  const Json* member = object.member(name);
  if (member == nullptr || member->is_null()) return std::nullopt;
  auto quantity = Quantity::from_json(*member);
  if (!quantity) return fail(std::move(quantity).error().within(name));
  return std::optional(std::move(*quantity));
}

Result<Resources> batch_resources(const Json& resources) {
  TM_TRY(const auto cpu, quantity_member(resources, kBatchCpu));
  TM_TRY(const auto memory, quantity_member(resources, kBatchMemory));
  return Resources{cpu ? cpu_milli_from_extended(*cpu) : CpuMilli{}, memory ? memory_bytes(*memory) : MemoryBytes{}};
}

Result<Json> parse_object(std::string_view annotation) {
  TM_TRY(auto root, Json::parse(annotation));
  if (!root.is_object() && !root.is_null()) return fail(ErrorKind::kInvalid, "wanted a JSON object");
  return root;
}

// The resource list named `resources`; null and absent are an empty one.
Result<const Json*> resource_list(const Json& object) {
  static const Json kNothing = Json::object();
  const Json* resources = object.member("resources");
  if (resources == nullptr || resources->is_null()) return &kNothing;
  if (!resources->is_object()) return fail(ErrorKind::kInvalid, "resources: wanted an object of quantities");
  return resources;
}

void write_amounts(base::JsonWriter& writer, std::string_view name, Resources batch) {
  writer.key(name).begin_object();
  writer.member(kBatchCpu, std::string_view(Quantity::of(batch.cpu.value).canonical()));
  writer.member(kBatchMemory,
                std::string_view(Quantity::of(batch.memory.value, Quantity::Format::kBinarySI).canonical()));
  writer.end_object();
}

// For annotations that only Tidemark writes: unknown keys are errors.
constexpr std::int64_t kYarnSchema = 1;

Result<void> only_members(const Json& object, std::initializer_list<std::string_view> known, std::string_view place) {
  if (!object.is_object())
    return fail(ErrorKind::kInvalid, place, "wanted an object, found ", base::in_quotes(object.dump()));
  for (const auto& [name, value] : object.as_object()) {
    if (std::ranges::find(known, name) == known.end()) {
      return fail(ErrorKind::kInvalid, place, base::in_quotes(name), ": unknown field");
    }
  }
  return {};
}

Result<Json> ours(std::string_view annotation, std::initializer_list<std::string_view> known) {
  TM_TRY(auto root, Json::parse(annotation));
  TM_TRY_VOID(only_members(root, known, ""));
  const Json* schema = root.member("schema");
  if (schema == nullptr || !schema->is_int() || schema->as_int() != kYarnSchema) {
    return fail(ErrorKind::kUnsupported, "schema: wanted ", kYarnSchema, ", found ",
                schema == nullptr ? "none" : schema->dump());
  }
  return root;
}

Result<Resources> amounts_of(const Json& object, std::string_view name) {
  const Json* amounts = object.member(name);
  if (amounts == nullptr) return fail(ErrorKind::kInvalid, name, ": missing");
  TM_TRY_VOID(only_members(*amounts, {kBatchCpu, kBatchMemory}, base::cat(name, ": ")));
  auto read = batch_resources(*amounts);
  if (!read) return fail(std::move(read).error().within(name));
  if (read->cpu < CpuMilli{} || read->memory < MemoryBytes{}) {
    return fail(ErrorKind::kInvalid, name, ": negative amount");
  }
  return *read;
}

Result<std::int64_t> generation_of(const Json& object) {
  const Json* number = object.member("generation");
  if (number == nullptr || !number->is_int() || number->as_int() < 0) {
    return fail(ErrorKind::kInvalid, "generation: wanted a whole number, found ",
                number == nullptr ? "none" : base::in_quotes(number->dump()));
  }
  return number->as_int();
}

Result<std::string> text_of(const Json& object, std::string_view name) {
  const Json* text = object.member(name);
  if (text == nullptr || !text->is_string()) return fail(ErrorKind::kInvalid, name, ": wanted a string");
  return std::string(text->as_string());
}

Result<bool> flag(const Json& object, std::string_view name) {
  const Json* member = object.member(name);
  if (member == nullptr || member->is_null()) return false;
  if (!member->is_bool()) return fail(ErrorKind::kInvalid, name, ": wanted true or false, found ", member->dump());
  return member->as_bool();
}

Result<void> check_quantities(const Json& list) {
  if (list.is_null()) return {};
  if (!list.is_object()) return fail(ErrorKind::kInvalid, "resources: wanted an object of quantities");
  for (const auto& [name, amount] : list.as_object()) {
    if (auto read = Quantity::from_json(amount); !read) return fail(std::move(read).error().within(name));
  }
  return {};
}

// One entry of numaNodeResources.
Result<std::int32_t> numa_node(const Json& entry) {
  if (entry.is_null()) return 0;
  if (!entry.is_object()) return fail(ErrorKind::kInvalid, "wanted an object, found ", base::in_quotes(entry.dump()));
  if (const Json* resources = entry.member("resources")) TM_TRY_VOID(check_quantities(*resources));
  const Json* node = entry.member("node");
  if (node == nullptr || node->is_null()) return 0;
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
  if (!node->is_int() || node->as_int() > kMax || node->as_int() < kMin) {
    return fail(ErrorKind::kInvalid, "node: wanted a number of a NUMA node, found ", base::in_quotes(node->dump()));
  }
  return static_cast<std::int32_t>(node->as_int());
}

}  // namespace

Result<Resources> parse_reservation(std::string_view annotation) {
  TM_TRY(const Json root, parse_object(annotation));
  TM_TRY(const Json* resources, resource_list(root));
  TM_TRY(const auto cpu, quantity_member(*resources, "cpu"));
  TM_TRY(const auto memory, quantity_member(*resources, "memory"));
  Resources reserved{cpu ? cpu_milli(*cpu) : CpuMilli{}, memory ? memory_bytes(*memory) : MemoryBytes{}};

  const Json* cpus = root.member("reservedCPUs");
  if (cpus != nullptr && !cpus->is_null() && !cpus->is_string()) {
    return fail(ErrorKind::kInvalid, "reservedCPUs: wanted a CPU list like \"0-3,8\"");
  }
  if (cpus != nullptr && cpus->is_string() && !cpus->as_string().empty()) {
    auto count = count_cpus(cpus->as_string());
    if (!count) return fail(std::move(count).error().within("reservedCPUs"));
    reserved.cpu = {std::int64_t{*count} * 1000};
  }
  return reserved;
}

Result<std::vector<ThirdPartyAllocation>> parse_third_party_allocations(std::string_view annotation) {
  TM_TRY(const Json root, parse_object(annotation));
  std::vector<ThirdPartyAllocation> allocations;
  const Json* list = root.member("allocations");
  if (list == nullptr || list->is_null()) return allocations;
  if (!list->is_array()) return fail(ErrorKind::kInvalid, "allocations: wanted an array");
  for (const Json& item : list->as_array()) {
    if (!item.is_object()) return fail(ErrorKind::kInvalid, "allocations: wanted objects, found ", item.dump());
    ThirdPartyAllocation allocation;
    allocation.name = item.text_at("name");
    allocation.priority = parse_priority_class(item.text_at("priority"));
    TM_TRY(const Json* resources, resource_list(item));
    auto batch = batch_resources(*resources);
    if (!batch)
      return fail(std::move(batch).error().within(base::cat("allocation ", base::in_quotes(allocation.name))));
    if (allocation.priority == PriorityClass::kBatch) allocation.resources = *batch;
    allocations.push_back(std::move(allocation));
  }
  return allocations;
}

std::string with_third_party_allocation(std::string_view annotation, std::string_view name, Resources batch) {
  Json::Array kept;
  const auto root = parse_object(annotation.empty() ? "{}" : annotation);
  if (const Json* list = root ? root->member("allocations") : nullptr; list != nullptr && list->is_array()) {
    kept = list->as_array();
  }
  std::string out;
  base::JsonWriter writer(out);
  const auto ours = [&] {
    writer.begin_object().member("name", name).member("priority", "koord-batch");
    write_amounts(writer, "resources", batch);
    writer.end_object();
  };
  bool written = false;
  writer.begin_object().key("allocations").begin_array();
  for (const Json& each : kept) {
    if (each.text_at("name") != name) {
      writer.raw(each.dump());
    } else if (!written) {
      ours();
      written = true;
    }
  }
  if (!written) ours();
  writer.end_array().end_object();
  return out;
}

std::string format_origin(Resources batch) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object();
  write_amounts(writer, "resources", batch);
  writer.end_object();
  return out;
}

namespace {

// The origin in the usual form of managers: format_origin() with numbers without suffix. It is read for every report of
// every node. nullopt for any other form, which is then parsed as JSON.
std::optional<Resources> plain_origin(std::string_view text) {
  constexpr std::size_t kDigitsMax = 15;
  const auto passed = [&text](std::string_view wanted) {
    if (!text.starts_with(wanted)) return false;
    text.remove_prefix(wanted.size());
    return true;
  };
  const auto number = [&text](std::int64_t& out) {
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
      if (digits == kDigitsMax) return false;
      out = out * 10 + (text[digits] - '0');
    }
    text.remove_prefix(digits);
    return digits > 0;
  };
  Resources origin;
  if (!passed(R"({"resources":{"kubernetes.io/batch-cpu":")") || !number(origin.cpu.value) ||
      !passed(R"(","kubernetes.io/batch-memory":")") || !number(origin.memory.value) || text != R"("}})") {
    return std::nullopt;
  }
  return origin;
}

}  // namespace

Result<Resources> parse_origin(std::string_view annotation) {
  if (const auto plain = plain_origin(annotation)) return *plain;
  TM_TRY(const Json root, parse_object(annotation));
  TM_TRY(const Json* resources, resource_list(root));
  return batch_resources(*resources);
}

Result<YarnBook> parse_yarn_book(std::string_view annotation) {
  TM_TRY(const Json root, ours(annotation, {"schema", "generation", "confirmed", "sold", "waiting", "waitingFor"}));
  YarnBook book;
  TM_TRY(book.generation, generation_of(root));
  TM_TRY(book.confirmed, amounts_of(root, "confirmed"));
  if (const Json* sold = root.member("sold")) {
    if (!sold->is_array())
      return fail(ErrorKind::kInvalid, "sold: wanted an array, found ", base::in_quotes(sold->dump()));
    if (sold->as_array().size() > kYarnClassesMax) {
      return fail(ErrorKind::kInvalid, "sold: ", sold->as_array().size(), " classes; at most ", kYarnClassesMax);
    }
    book.sold.emplace();
    for (const Json& item : sold->as_array()) {
      TM_TRY_VOID(only_members(item, {"class", "resources"}, "sold: "));
      TM_TRY(std::string name, text_of(item, "class"));
      auto amount = amounts_of(item, "resources");
      if (!amount) return fail(std::move(amount).error().within(base::cat("sold of class ", base::in_quotes(name))));
      book.sold->push_back({std::move(name), *amount});
    }
  }
  if (root.member("waiting") != nullptr) {
    TM_TRY(book.waiting, text_of(root, "waiting"));
  }
  if (root.member("waitingFor") != nullptr) {
    if (!book.waiting) return fail(ErrorKind::kInvalid, "waitingFor: there is no `waiting` beside it");
    TM_TRY(book.waiting_for, amounts_of(root, "waitingFor"));
  }
  return book;
}

std::string format_yarn_book(const YarnBook& book) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().member("schema", kYarnSchema).member("generation", book.generation);
  write_amounts(writer, "confirmed", book.confirmed);
  if (book.sold) {
    writer.key("sold").begin_array();
    for (const auto& each : *book.sold) {
      writer.begin_object().member("class", std::string_view(each.work_class));
      write_amounts(writer, "resources", each.amount);
      writer.end_object();
    }
    writer.end_array();
  }
  if (book.waiting) writer.member("waiting", std::string_view(*book.waiting));
  if (book.waiting && book.waiting_for) write_amounts(writer, "waitingFor", *book.waiting_for);
  writer.end_object();
  return out;
}

void write_reclaim(base::JsonWriter& writer, const std::vector<Reclaim>& reclaim) {
  writer.begin_array();
  for (std::size_t i = 0; i < reclaim.size() && i < kReclaimClassesMax; ++i) {
    writer.begin_object().member("class", std::string_view(reclaim[i].work_class));
    write_amounts(writer, "amount", reclaim[i].amount);
    write_amounts(writer, "keep", reclaim[i].keep);
    writer.member("reason", std::string_view(reclaim[i].reason)).end_object();
  }
  writer.end_array();
}

Result<std::vector<Reclaim>> read_reclaim(const Json& list) {
  if (!list.is_array()) {
    return fail(ErrorKind::kInvalid, "reclaim: wanted an array, found ", base::in_quotes(list.dump()));
  }
  if (list.as_array().size() > kReclaimClassesMax) {
    return fail(ErrorKind::kInvalid, "reclaim: ", list.as_array().size(), " classes; at most ", kReclaimClassesMax);
  }
  std::vector<Reclaim> out;
  for (const Json& item : list.as_array()) {
    TM_TRY_VOID(only_members(item, {"class", "amount", "keep", "reason"}, "reclaim: "));
    Reclaim each;
    TM_TRY(each.work_class, text_of(item, "class"));
    TM_TRY(each.amount, amounts_of(item, "amount"));
    TM_TRY(each.keep, amounts_of(item, "keep"));
    TM_TRY(each.reason, text_of(item, "reason"));
    out.push_back(std::move(each));
  }
  return out;
}

std::string format_yarn_offer(const YarnOffer& offer) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().member("schema", kYarnSchema).member("generation", offer.generation);
  write_amounts(writer, "resources", offer.offer);
  write_amounts(writer, "upTo", offer.up_to);
  if (!offer.reclaim.empty()) {
    writer.key("reclaim");
    write_reclaim(writer, offer.reclaim);
  }
  if (offer.drain_by) writer.member("drainBy", std::string_view(base::format_rfc3339_micro(*offer.drain_by)));
  writer.end_object();
  return out;
}

Result<YarnOffer> parse_yarn_offer(std::string_view annotation) {
  TM_TRY(const Json root, ours(annotation, {"schema", "generation", "resources", "upTo", "reclaim", "drainBy"}));
  YarnOffer read;
  TM_TRY(read.generation, generation_of(root));
  TM_TRY(read.offer, amounts_of(root, "resources"));
  TM_TRY(read.up_to, amounts_of(root, "upTo"));
  if (const Json* reclaim = root.member("reclaim")) {
    TM_TRY(read.reclaim, read_reclaim(*reclaim));
  }
  if (root.member("drainBy") != nullptr) {
    const auto by = base::parse_rfc3339(root.text_at("drainBy"));
    if (!by) return fail(ErrorKind::kInvalid, "drainBy: wanted a time like 2026-03-01T02:00:00Z");
    read.drain_by = *by;
  }
  return read;
}

Result<std::vector<YarnManager>> parse_yarn_managers(std::string_view annotation) {
  TM_TRY(const Json root, ours(annotation, {"schema", "managers"}));
  const Json* managers = root.member("managers");
  if (managers == nullptr || !managers->is_array()) return fail(ErrorKind::kInvalid, "managers: wanted an array");
  std::vector<YarnManager> out;
  for (const Json& item : managers->as_array()) {
    TM_TRY_VOID(only_members(item, {"cluster", "id", "address", "state", "since"}, "managers: "));
    YarnManager each;
    TM_TRY(each.cluster, text_of(item, "cluster"));
    TM_TRY(each.id, text_of(item, "id"));
    TM_TRY(each.address, text_of(item, "address"));
    TM_TRY(each.state, text_of(item, "state"));
    const auto since = base::parse_rfc3339(item.text_at("since"));
    if (!since) return fail(ErrorKind::kInvalid, "since: wanted a time like 2026-03-01T02:00:00Z");
    each.since = *since;
    out.push_back(std::move(each));
  }
  return out;
}

std::string format_yarn_managers(const std::vector<YarnManager>& managers) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().member("schema", kYarnSchema).key("managers").begin_array();
  for (const YarnManager& each : managers) {
    writer.begin_object().member("cluster", std::string_view(each.cluster)).member("id", std::string_view(each.id));
    writer.member("address", std::string_view(each.address)).member("state", std::string_view(each.state));
    writer.member("since", std::string_view(base::format_rfc3339_micro(each.since))).end_object();
  }
  writer.end_array().end_object();
  return out;
}

Result<std::vector<ManagerQueue>> parse_queues(std::string_view annotation) {
  TM_TRY(const Json root, ours(annotation, {"schema", "queues"}));
  const Json* queues = root.member("queues");
  if (queues == nullptr || !queues->is_array()) return fail(ErrorKind::kInvalid, "queues: wanted an array");
  std::vector<ManagerQueue> out;
  for (const Json& item : queues->as_array()) {
    TM_TRY_VOID(only_members(item, {"name", "length", "oldestSince"}, "queues: "));
    ManagerQueue each;
    TM_TRY(each.name, text_of(item, "name"));
    const Json* length = item.member("length");
    if (length == nullptr || !length->is_int()) return fail(ErrorKind::kInvalid, "length: wanted a number");
    each.length = length->as_int();
    if (item.member("oldestSince") != nullptr) each.oldest_since = base::parse_rfc3339(item.text_at("oldestSince"));
    out.push_back(std::move(each));
  }
  return out;
}

std::string format_queues(const std::vector<ManagerQueue>& queues) {
  std::string out;
  base::JsonWriter writer(out);
  writer.begin_object().member("schema", kYarnSchema).key("queues").begin_array();
  for (const ManagerQueue& each : queues) {
    writer.begin_object().member("name", std::string_view(each.name)).member("length", each.length);
    if (each.oldest_since)
      writer.member("oldestSince", std::string_view(base::format_rfc3339_micro(*each.oldest_since)));
    writer.end_object();
  }
  writer.end_array().end_object();
  return out;
}

Result<CpuBasicInfo> parse_cpu_basic_info(std::string_view annotation) {
  TM_TRY(const Json root, parse_object(annotation));
  CpuBasicInfo info;
  const Json* model = root.member("cpuModel");
  if (model != nullptr && !model->is_null()) {
    if (!model->is_string()) return fail(ErrorKind::kInvalid, "cpuModel: wanted a string, found ", model->dump());
    info.model = model->as_string();
  }
  TM_TRY(info.hyper_thread, flag(root, "hyperThreadEnabled"));
  TM_TRY(info.turbo, flag(root, "turboEnabled"));
  return info;
}

Result<std::vector<std::int32_t>> parse_numa_nodes(std::string_view annotation) {
  TM_TRY(const Json root, parse_object(annotation));
  const Json* cpuset = root.member("cpuset");
  if (cpuset != nullptr && !cpuset->is_null() && !cpuset->is_string()) {
    return fail(ErrorKind::kInvalid, "cpuset: wanted a CPU list like \"0-3,8\", found ",
                base::in_quotes(cpuset->dump()));
  }
  std::vector<std::int32_t> nodes;
  const Json* list = root.member("numaNodeResources");
  if (list == nullptr || list->is_null()) return nodes;
  if (!list->is_array()) return fail(ErrorKind::kInvalid, "numaNodeResources: wanted an array");
  for (std::size_t i = 0; i < list->as_array().size(); ++i) {
    auto node = numa_node(list->as_array()[i]);
    if (!node) return fail(std::move(node).error().within(base::cat("numaNodeResources[", i, "]")));
    nodes.push_back(*node);
  }
  return nodes;
}

Result<int> count_cpus(std::string_view cpu_list) {
  TM_TRY(const auto cpus, parse_cpus(cpu_list));
  return static_cast<int>(cpus.size());
}

}  // namespace tidemark::model
