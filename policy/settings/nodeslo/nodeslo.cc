#include "policy/settings/nodeslo/nodeslo.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/quantity.h"
#include "policy/settings/nodeslo/fields.h"

namespace tidemark::policy::settings {
namespace {

using base::JsonObject;
using model::Reason;

constexpr std::string_view kBandwidthKey = "totalNetworkBandwidth";

constexpr std::array<SloPartInfo, model::kSloParts> kParts{{
    {model::SloPart::kThreshold, "resource-threshold-config", "resourceUsedThresholdWithBE", "nodeStrategies",
     &kThresholdSchema},
    {model::SloPart::kQos, "resource-qos-config", "resourceQOSStrategy", "nodeStrategies", &kQosSchema},
    {model::SloPart::kCpuBurst, "cpu-burst-config", "cpuBurstStrategy", "nodeStrategies", &kCpuBurstSchema},
    {model::SloPart::kSystem, "system-config", "systemStrategy", "nodeStrategies", &kSystemSchema},
    {model::SloPart::kHostApplications, "host-application-config", "hostApplications", "nodeConfigs",
     &kHostApplicationsSchema},
}};

// Contract 4.4.
std::string_view default_text(model::SloPart part) {
  switch (part) {
    case model::SloPart::kThreshold:
      return R"({"enable":false,"cpuSuppressThresholdPercent":65,"cpuSuppressPolicy":"cpuset",
                 "memoryEvictThresholdPercent":70,"cpuEvictPolicy":"evictByRealLimit"})";
    case model::SloPart::kCpuBurst:
      return R"({"policy":"none","cpuBurstPercent":1000,"cfsQuotaBurstPercent":300,"cfsQuotaBurstPeriodSeconds":-1,
                 "sharePoolThresholdPercent":50})";
    case model::SloPart::kQos:
    case model::SloPart::kSystem:
    case model::SloPart::kHostApplications:
      return "{}";
  }
  return "{}";
}

const ObjectSchema& config_schema(model::SloPart part) {
  switch (part) {
    case model::SloPart::kThreshold:
      return kThresholdConfigSchema;
    case model::SloPart::kQos:
      return kQosConfigSchema;
    case model::SloPart::kCpuBurst:
      return kCpuBurstConfigSchema;
    case model::SloPart::kSystem:
      return kSystemConfigSchema;
    case model::SloPart::kHostApplications:
      return kHostApplicationConfigSchema;
  }
  return kHostApplicationConfigSchema;
}

std::string part_text(model::SloPart part, const JsonObject& strategy) {
  if (part != model::SloPart::kHostApplications) return write_typed(*slo_part_info(part).schema, strategy);
  const Json* list = strategy.find(kSloApplications);
  if (list == nullptr || list->as_array().empty()) return "";
  return write_typed_list(kHostApplicationSchema, list->as_array());
}

// As in Koordinator: a list of host applications replaces the one below it; everything else is merged.
JsonObject peers_over(model::SloPart part, const JsonObject& below, const JsonObject& own) {
  if (part == model::SloPart::kHostApplications) return own;
  // A text without a field of the strategy keeps the layer below; a merge would reset the bandwidth, which is always
  // written.
  if (own.empty()) return below;
  return merge_typed(*slo_part_info(part).schema, below, own);
}

SloStrategy strategy_over(model::SloPart part, const JsonObject& below, JsonObject own) {
  SloStrategy strategy;
  strategy.merged = peers_over(part, below, own);
  strategy.own = std::move(own);
  strategy.text = part_text(part, strategy.merged);
  return strategy;
}

JsonObject default_strategy(model::SloPart part) {
  JsonObject strategy;
  const auto read = read_typed(default_text(part), *slo_part_info(part).schema, strategy);
  TM_CHECK(read.has_value(), "the defaults can be read");
  return strategy;
}

// An entry without its name and selector.
JsonObject own_of(const JsonObject& entry) {
  JsonObject own;
  for (const auto& [name, value] : entry) {
    if (name != "name" && name != "nodeSelector") own.set(name, value);
  }
  return own;
}

Result<SloEntry> entry_of(model::SloPart part, const JsonObject& item, const JsonObject& cluster) {
  SloEntry entry;
  if (const Json* name = item.find("name")) entry.name = name->as_string();
  if (const Json* selector = item.find("nodeSelector")) {
    TM_TRY(entry.selector, model::LabelSelector::from_json(*selector));
  }
  if (entry.selector.problem()) {
    entry.reason = Reason::kConfigSelectorUnusable;
    entry.problem = entry.selector.problem()->message;
  }
  entry.strategy = strategy_over(part, cluster, own_of(item));
  return entry;
}

std::uint64_t fingerprint(std::string_view text) {
  if (text.empty()) return 0;
  const std::uint64_t hash = base::TextHash().add(text).value();
  return hash == 0 ? 1 : hash;
}

// With the members of every object sorted by name, as the API server writes unknown fields.
Json sorted(const Json& value) {
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& each : value.as_array()) out.as_array().push_back(sorted(each));
    return out;
  }
  if (!value.is_object()) return value;
  std::map<std::string, Json> members;
  for (const auto& [key, member] : value.as_object()) members.emplace(key, sorted(member));
  Json out = Json::object();
  for (auto& [key, member] : members) out[key] = std::move(member);
  return out;
}

std::uint64_t fingerprint_of_ours(const Json& ours) {
  return fingerprint(sorted(ours).dump());
}
std::uint64_t fingerprint_of_ours(std::string_view text) {
  if (text.empty()) return 0;
  const auto ours = Json::parse(text);
  return ours ? fingerprint_of_ours(*ours) : fingerprint(text);
}

const SloStrategy& chosen(const SloPartConfig& config, const std::optional<std::size_t>& entry) {
  return entry ? config.entries[*entry].strategy : config.cluster;
}

void take_bandwidth(SloNodePart& part, std::string_view annotation) {
  const auto quantity = model::Quantity::parse(annotation);
  if (!quantity) {
    part.text = "";  // as in Koordinator: such a node has no systemStrategy at all
    part.note = Reason::kSloBandwidthUnreadable;
    return;
  }
  JsonObject system = part.strategy;
  system.set(kBandwidthKey, Json(quantity->to_string()));
  part.text = part_text(model::SloPart::kSystem, system);
  part.note = Reason::kSloBandwidthFromAnnotation;
}

void move_lines(SloNodePart& part, SloShift shift) {
  JsonObject threshold = part.strategy;
  part.note = Reason::kSloLineBase;
  for (const MovedLine& line : moved_lines(part.strategy, shift)) {
    if (line.reason == Reason::kSloLineBase) continue;
    threshold.set(line.field, Json(line.moved));
    if (part.note != Reason::kSloLineAtBound) part.note = line.reason;
  }
  if (part.note != Reason::kSloLineBase) part.text = part_text(model::SloPart::kThreshold, threshold);
}

SloNodePart part_for_node(model::SloPart part, const SloPartConfig& config, std::span<const model::Label> labels,
                          std::optional<std::string_view> bandwidth, std::optional<SloShift> shift,
                          const SloLayers& layers) {
  SloNodePart out;
  const auto match = std::ranges::find_if(config.entries, [&](const auto& e) { return e.selector.matches(labels); });
  if (match != config.entries.end()) out.entry = static_cast<std::size_t>(match - config.entries.begin());
  const SloStrategy& strategy = chosen(config, out.entry);
  out.text = strategy.text;
  out.strategy = strategy.merged;
  for (const model::SloLayer* layer : {layers.pool, layers.node}) {
    const JsonObject* own = layer == nullptr ? nullptr : layer->of(part);
    if (own == nullptr) continue;
    out.strategy = over(part, std::move(out.strategy), *own);
    out.text = part_text(part, out.strategy);
  }
  if (part == model::SloPart::kSystem && bandwidth) take_bandwidth(out, *bandwidth);
  if (part == model::SloPart::kThreshold && shift) move_lines(out, *shift);
  return out;
}

}  // namespace

const std::array<SloPartInfo, model::kSloParts>& slo_parts() {
  return kParts;
}

const SloPartInfo& slo_part_info(model::SloPart part) {
  return kParts[static_cast<std::size_t>(part)];
}

SloPartConfig slo_defaults(model::SloPart part) {
  SloPartConfig config;
  config.cluster = strategy_over(part, default_strategy(part), {});
  return config;
}

SloConfig::SloConfig() {
  for (const SloPartInfo& info : kParts) parts[static_cast<std::size_t>(info.part)] = slo_defaults(info.part);
}

Result<SloPartConfig> parse_slo_part(model::SloPart part, std::string_view text) {
  const SloPartInfo& info = slo_part_info(part);
  JsonObject document;
  if (auto read = read_typed(text, config_schema(part), document); !read) {
    return fail(std::move(read).error().within(info.key));
  }

  SloPartConfig config;
  JsonObject own;
  if (part == model::SloPart::kHostApplications) {
    if (const Json* list = document.find(kSloApplications)) own.set(kSloApplications, *list);
  } else if (const Json* cluster = document.find("clusterStrategy")) {
    own = cluster->as_object();
  }
  config.cluster = strategy_over(part, default_strategy(part), std::move(own));

  const Json* list = document.find(info.list);
  if (list == nullptr) return config;
  for (std::size_t i = 0; i < list->as_array().size(); ++i) {
    auto entry = entry_of(part, list->as_array()[i].as_object(), config.cluster.merged);
    if (!entry) {
      return fail(std::move(entry).error().within(base::cat(info.key, ": ", info.list, "[", i, "].nodeSelector")));
    }
    config.entries.push_back(std::move(*entry));
  }
  return config;
}

SloStep next_slo_part(model::SloPart part, const model::ConfigSource& source) {
  if (!source.found) return {std::nullopt, Reason::kConfigNotFound, ""};
  if (!source.text) return {slo_defaults(part), Reason::kConfigDefaults, ""};
  auto config = parse_slo_part(part, *source.text);
  if (!config) return {std::nullopt, Reason::kConfigBadJson, std::move(config).error().message};
  return {std::move(*config), Reason::kConfigApplied, ""};
}

bool SloSpec::operator==(const SloSpec& other) const {
  return std::ranges::equal(parts, other.parts, {}, &SloNodePart::text, &SloNodePart::text) && ours == other.ours;
}

SloSpec slo_for(const SloConfig& config, std::span<const model::Label> labels,
                std::optional<std::string_view> bandwidth, std::optional<SloShift> shift, const SloLayers& layers) {
  SloSpec spec;
  for (const SloPartInfo& info : kParts) {
    spec.parts[static_cast<std::size_t>(info.part)] =
        part_for_node(info.part, config.of(info.part), labels, bandwidth, shift, layers);
  }
  return spec;
}

std::string slo_spec_json(const SloSpec& spec) {
  std::string text;
  base::JsonWriter out(text);
  out.begin_object();
  for (const SloPartInfo& info : kParts) {
    const std::string& part = spec.parts[static_cast<std::size_t>(info.part)].text;
    if (!part.empty()) out.key(info.field).raw(part);
  }
  out.key(kSloExtensions);
  if (spec.ours && !spec.ours->empty()) {
    out.begin_object().key(kSloObject).begin_object().key(kSloOurs).raw(*spec.ours).end_object().end_object();
  } else {
    out.raw(kSloNoExtensions);
  }
  out.end_object();
  return text;
}

SloFingerprint slo_fingerprint(const SloSpec& spec) {
  SloFingerprint out;
  out.has_spec = true;
  out.has_extensions = true;
  out.has_object = true;
  if (spec.ours) out.ours = fingerprint_of_ours(std::string_view(*spec.ours));
  for (std::size_t i = 0; i < model::kSloParts; ++i) out.parts[i] = fingerprint(spec.parts[i].text);
  return out;
}

SloFingerprint slo_fingerprint_of_object(std::string_view spec) {
  SloFingerprint out;
  if (spec.empty() || spec == "null") return out;
  JsonObject document;
  if (!read_typed(spec, kSloSpecSchema, document)) return out;  // no part of it can be kept
  out.has_spec = true;
  const Json* extensions = document.find(kSloExtensions);
  out.has_extensions = extensions != nullptr && extensions->is_object();
  const Json* object = out.has_extensions ? extensions->member(kSloObject) : nullptr;
  out.has_object = object != nullptr && object->is_object();
  const Json* ours = out.has_object ? object->member(kSloOurs) : nullptr;
  if (ours != nullptr) out.ours = fingerprint_of_ours(*ours);
  for (const SloPartInfo& info : kParts) {
    const Json* part = document.find(info.field);
    if (part == nullptr) continue;
    JsonObject strategy;
    if (info.part == model::SloPart::kHostApplications) {
      strategy.set(kSloApplications, *part);
    } else {
      strategy = part->as_object();
    }
    out.parts[static_cast<std::size_t>(info.part)] = fingerprint(part_text(info.part, strategy));
  }
  return out;
}

std::string slo_patch(const SloSpec& wanted, const SloFingerprint& found, std::string_view resource_version) {
  SloFingerprint right = slo_fingerprint(wanted);
  if (!wanted.ours) right.ours = found.ours;
  right.has_object = found.has_object;  // created only if something is added to it
  if (right == found) return "";
  std::string text;
  base::JsonWriter out(text);
  const auto put = [&](std::string_view path, std::string_view value) {
    out.begin_object().member("op", "add").member("path", path).key("value").raw(value);
    out.end_object();
  };
  out.begin_array();
  std::string revision;
  base::append_json_string(revision, resource_version);
  put("/metadata/resourceVersion", revision);
  if (!found.has_spec) put("/spec", "{}");  // missing or unreadable
  for (const SloPartInfo& info : kParts) {
    const auto index = static_cast<std::size_t>(info.part);
    if (right.parts[index] == found.parts[index]) continue;
    const std::string path = base::cat("/spec/", info.field);
    const std::string& part = wanted.parts[index].text;
    if (!part.empty()) {
      put(path, part);
    } else {
      out.begin_object().member("op", "remove").member("path", path).end_object();
    }
  }
  if (!found.has_extensions) put("/spec/extensions", kSloNoExtensions);
  if (right.ours != found.ours) {
    if (found.has_extensions && !found.has_object) put("/spec/extensions/Object", "{}");
    const std::string path = base::cat("/spec/extensions/", kSloObject, "/", kSloOurs);
    if (wanted.ours && !wanted.ours->empty()) {
      put(path, *wanted.ours);
    } else {
      out.begin_object().member("op", "remove").member("path", path).end_object();
    }
  }
  out.end_array();
  return text;
}

}  // namespace tidemark::policy::settings
