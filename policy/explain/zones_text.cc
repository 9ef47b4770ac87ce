#include "policy/explain/zones_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/text.h"
#include "model/names.h"
#include "policy/explain/why.h"
#include "policy/sell/overcommit/normalization.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;

// Thousandths as a number with the decimals that it needs: 2400000 is 2400, 2400500 is 2400.5.
std::string thousandths(std::int64_t value) {
  const bool negative = value < 0;
  const auto magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::string out = cat(negative ? "-" : "", magnitude / 1000);
  std::string rest = cat(magnitude % 1000 + 1000).substr(1);
  while (!rest.empty() && rest.back() == '0') rest.pop_back();
  return rest.empty() ? out : cat(out, ".", rest);
}

// Milli-cores as on the node level; memory is finer.
std::string amount(model::CpuMilli cpu) {
  return cat(cpu.value);
}
std::string amount(model::CpuMicro cpu) {
  return thousandths(cpu.value);
}
std::string amount(model::MemoryMilli memory) {
  return thousandths(memory.value);
}

template <class Amount>
Json number(Amount value) {
  return Json::parse(amount(value)).value_or(Json(nullptr));
}

template <class Amount, class Fine>
Json terms_json(const sell::WaterLineTerms<Amount>& terms, std::optional<std::int64_t> ratio_percent, Fine third_party,
                Fine zone, const std::optional<model::ZoneAmounts<Fine>>& carried) {
  Json out = Json::object({{"allocatable", number(terms.capacity)},
                           {"margin", number(terms.margin)},
                           {"systemUsed", number(terms.system_used)},
                           {"reservedByKubelet", number(terms.reserved_by_kubelet)},
                           {"reservedByAnnotation", number(terms.reserved_by_annotation)},
                           {"reserved", number(terms.reserved)},
                           {"reservedBy", why_json(terms.reserved_by)},
                           {"policy", why_json(terms.policy)},
                           {"highPriority", number(terms.high_priority)},
                           {"left", number(terms.left)},
                           {"cap", terms.cap ? number(*terms.cap) : Json(nullptr)},
                           {"ratioPercent", ratio_percent ? Json(*ratio_percent) : Json(nullptr)},
                           {"thirdParty", number(third_party)},
                           {"originBy", why_json(terms.origin_by)},
                           {"offered", number(zone)}});
  out["onZone"] = carried ? Json::object({{"capacity", number(carried->capacity)},
                                          {"allocatable", number(carried->allocatable)},
                                          {"available", number(carried->available)}})
                          : Json(nullptr);
  return out;
}

using Row = std::array<std::string, 8>;

// Columns flush right but the first.
void append_table(std::string& out, const std::vector<Row>& rows) {
  Row::size_type column = 0;
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (column = 0; column < row.size(); ++column) widths[column] = std::max(widths[column], row[column].size());
  }
  for (const Row& row : rows) {
    out += cat("  ", row[0], std::string(widths[0] - row[0].size(), ' '));
    for (column = 1; column < row.size(); ++column) {
      out += cat("  ", std::string(widths[column] - row[column].size(), ' '), row[column]);
    }
    out += '\n';
  }
}

template <class Fine>
std::string carried_text(const std::optional<model::ZoneAmounts<Fine>>& carried) {
  if (!carried) return "-";
  if (carried->capacity == carried->allocatable && carried->allocatable == carried->available) {
    return amount(carried->available);
  }
  return cat(amount(carried->capacity), "/", amount(carried->allocatable), "/", amount(carried->available));
}

template <class Amount, class Fine>
Row row_of(const std::string& name, const sell::WaterLineTerms<Amount>& terms, Fine zone,
           const std::optional<model::ZoneAmounts<Fine>>& carried) {
  return {name,
          amount(terms.capacity),
          amount(terms.margin),
          amount(terms.reserved),
          amount(terms.high_priority),
          amount(terms.allowed),
          amount(zone),
          carried_text(carried)};
}

const model::ZoneView* zone_view(const model::NodeSnapshot& node, std::size_t place) {
  return node.topology && place < node.topology->zones.size() ? &node.topology->zones[place] : nullptr;
}

std::string on_node(const std::optional<std::string>& text) {
  return text ? cat("on the node now: ", *text) : std::string("not on the node now");
}

std::string two_decimals(double ratio) {
  const auto hundredths = static_cast<std::int64_t>(std::min(ratio, 1e15) * 100 + 0.5);
  return sell::ratio_text(hundredths);
}

}  // namespace

std::string render_zones_text(const sell::OvercommitPlan& whole, const model::NodeSnapshot& node) {
  const sell::ZonesPlan& plan = whole.zones;
  if (!node.topology) return "";
  std::string out = cat("\nNUMA zones: ", why(plan.reason), "\n");
  if (plan.zones.empty()) return out;
  const Row head{"zone", "allocatable", "margin", "reserved", "online", "left", "offered", "on the zone now"};
  std::vector<Row> cpu{head};
  std::vector<Row> memory{head};
  for (std::size_t i = 0; i < plan.zones.size(); ++i) {
    const sell::ZonePlan& zone = plan.zones[i];
    const model::ZoneView* view = zone_view(node, i);
    cpu.push_back(row_of(zone.name, zone.cpu, zone.batch_cpu, view == nullptr ? std::nullopt : view->batch_cpu));
    memory.push_back(
        row_of(zone.name, zone.memory, zone.batch_memory, view == nullptr ? std::nullopt : view->batch_memory));
  }
  out += cat(" ", model::kBatchCpu, ", in milli-cores\n");
  append_table(out, cpu);
  out += cat(" ", model::kBatchMemory, ", in bytes\n");
  append_table(out, memory);
  return out;
}

Json render_zones_json(const sell::OvercommitPlan& whole, const model::NodeSnapshot& node) {
  const sell::ZonesPlan& plan = whole.zones;
  Json zones = Json::array();
  for (std::size_t i = 0; i < plan.zones.size(); ++i) {
    const sell::ZonePlan& zone = plan.zones[i];
    const model::ZoneView* view = zone_view(node, i);
    Json shown = Json::object({{"name", Json(zone.name)}});
    shown["batch-cpu"] = terms_json(zone.cpu, whole.normalization.ratio_percent, zone.third_party_cpu, zone.batch_cpu,
                                    view == nullptr ? std::nullopt : view->batch_cpu);
    // Memory is not multiplied.
    shown["batch-memory"] = terms_json(zone.memory, std::nullopt, zone.third_party_memory, zone.batch_memory,
                                       view == nullptr ? std::nullopt : view->batch_memory);
    zones.as_array().push_back(std::move(shown));
  }
  return Json::object({{"reason", why_json(plan.reason)}, {"zones", std::move(zones)}});
}

std::string render_ratios_text(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node,
                               const sell::PluginSet& plugins) {
  std::string out;
  if (plugins.cpu_normalization) {
    const sell::NormalizationPlan& ratio = plan.normalization;
    out += cat("\nCPU normalization: ", ratio.ratio_percent ? sell::ratio_text(*ratio.ratio_percent) : "no ratio", ": ",
               why(ratio.reason), "; ", on_node(node.normalization_annotation), "\n");
    if (node.topology && node.topology->cpu) {
      const model::CpuBasicInfo& cpu = *node.topology->cpu;
      out += cat("  processor: ", cpu.model, cpu.hyper_thread ? ", hyper-threading" : "", cpu.turbo ? ", turbo" : "",
                 "\n");
    }
  }
  if (plugins.resource_amplification) {
    const sell::AmplificationPlan& amplification = plan.amplification;
    out += cat("resource amplification: ",
               amplification.action == sell::AnnotationAction::kSet      ? amplification.text
               : amplification.action == sell::AnnotationAction::kRemove ? "none"
                                                                         : "left as it is",
               ": ", why(amplification.reason), "; ", on_node(node.amplification_annotation), "\n");
    for (const sell::AmplifiedResource& each : amplification.ratios) {
      out += cat("  ", each.resource, ": ", two_decimals(each.ratio));
      if (each.configured) out += cat(", ", two_decimals(*each.configured), " by the settings");
      if (each.resource == "cpu" && amplification.normalization_ratio) {
        out += cat(", ", two_decimals(*amplification.normalization_ratio), " by the normalization on the node");
      }
      out += '\n';
    }
  }
  return out;
}

Json render_normalization_json(const sell::NormalizationPlan& plan, const model::NodeSnapshot& node) {
  Json out =
      Json::object({{"reason", why_json(plan.reason)},
                    {"ratioPercent", plan.ratio_percent ? Json(*plan.ratio_percent) : Json(nullptr)},
                    {"written", Json(plan.annotate)},
                    {"onNode", node.normalization_annotation ? Json(*node.normalization_annotation) : Json(nullptr)}});
  if (node.topology && node.topology->cpu) {
    const model::CpuBasicInfo& cpu = *node.topology->cpu;
    out["cpu"] =
        Json::object({{"model", Json(cpu.model)}, {"hyperThread", Json(cpu.hyper_thread)}, {"turbo", Json(cpu.turbo)}});
  }
  return out;
}

Json render_amplification_json(const sell::AmplificationPlan& plan, const model::NodeSnapshot& node) {
  Json ratios = Json::array();
  for (const sell::AmplifiedResource& each : plan.ratios) {
    Json shown = Json::object({{"resource", Json(each.resource)}, {"ratio", Json(each.ratio)}});
    if (each.configured) shown["configured"] = Json(*each.configured);
    ratios.as_array().push_back(std::move(shown));
  }
  return Json::object(
      {{"reason", why_json(plan.reason)},
       {"text", plan.action == sell::AnnotationAction::kSet ? Json(plan.text) : Json(nullptr)},
       {"kept", Json(plan.action == sell::AnnotationAction::kKeep)},
       {"normalizationRatio", plan.normalization_ratio ? Json(*plan.normalization_ratio) : Json(nullptr)},
       {"ratios", std::move(ratios)},
       {"onNode", node.amplification_annotation ? Json(*node.amplification_annotation) : Json(nullptr)}});
}

}  // namespace tidemark::policy::explain
