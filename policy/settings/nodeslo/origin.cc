#include "policy/settings/nodeslo/origin.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "model/names.h"
#include "policy/settings/nodeslo/typed_json.h"

namespace tidemark::policy::settings {
namespace {

constexpr std::string_view kBandwidthPath = "totalNetworkBandwidth";

bool names(const std::vector<Leaf>& leaves, std::string_view path) {
  return std::ranges::find(leaves, path, &Leaf::path) != leaves.end();
}

// The override that applies to this resource: "ann@ops-1 until 2026-11-21T22:00:00Z: a fire drill".
std::string by_text(const waterline::LineOverrides& overrides,
                    std::optional<std::int64_t> waterline::LinePercent::* side) {
  const auto* line = waterline::override_at(overrides, side, base::WallTime{});
  if (line == nullptr) return "";
  return base::cat(line->who, " until ", base::format_rfc3339(line->until), ": ", line->why);
}

}  // namespace

model::PartInForce slo_in_force(model::SloPart part, const model::ConfigSource& source,
                                std::span<const model::Label> labels, std::optional<std::string_view> bandwidth,
                                const std::optional<SloCalendar>& calendar, const SloLayers& layers) {
  const SloPartInfo& info = slo_part_info(part);
  model::PartInForce out;
  out.key = info.key;
  out.spec = info.field;
  out.list = info.list;
  SloStep step = next_slo_part(part, source);
  out.reason = step.reason;
  out.problem = std::move(step.problem);
  if (!out.problem.empty()) return out;

  SloConfig config;
  SloPartConfig& running = config.parts[static_cast<std::size_t>(part)];
  if (step.next) running = std::move(*step.next);
  const auto shift = calendar ? std::optional(slo_shift(calendar->line)) : std::nullopt;
  const SloSpec spec = slo_for(config, labels, bandwidth, shift, layers);
  const SloNodePart& node = spec.parts[static_cast<std::size_t>(part)];
  out.entry = node.entry;
  if (node.note) out.notes.push_back(*node.note);
  out.left_out = node.text.empty();
  if (out.left_out) return out;

  const SloStrategy& strategy = node.entry ? running.entries[*node.entry].strategy : running.cluster;
  std::vector<Leaf> entry;
  if (node.entry) {
    out.entry_name = running.entries[*node.entry].name;
    entry = leaves_of(*info.schema, strategy.own);
  }
  const std::vector<MovedLine> lines =
      part == model::SloPart::kThreshold && calendar ? moved_lines(node.strategy, *shift) : std::vector<MovedLine>();
  const auto layer = [&](const model::SloLayer* from) {
    const base::JsonObject* own = from == nullptr ? nullptr : from->of(part);
    return own == nullptr ? std::vector<Leaf>() : leaves_of(*info.schema, *own);
  };
  const std::vector<Leaf> of_pool = layer(layers.pool);
  const std::vector<Leaf> of_node = layer(layers.node);
  if (!of_node.empty()) out.notes.push_back(model::Reason::kSloNodeSettings);
  // A list of a layer replaces the lists of the layers below.
  const bool whole = part == model::SloPart::kHostApplications;
  const std::vector<Leaf> cluster = leaves_of(*info.schema, running.cluster.own);
  for (Leaf& leaf : leaves_of(*info.schema, node.strategy)) {
    model::FieldInForce field{std::move(leaf.path), std::move(leaf.value), model::FieldOrigin::kDefault, ""};
    if (field.path == kBandwidthPath && node.note == model::Reason::kSloBandwidthFromAnnotation) {
      field.origin = model::FieldOrigin::kAnnotation;
      field.from = model::kNetworkBandwidthAnnotation;
      // As written into the spec.
      if (const auto text = Json::parse(node.text)) field.value = text->at(kBandwidthPath)->dump();
    } else if (names(of_node, field.path) || (whole && !of_node.empty())) {
      field.origin = model::FieldOrigin::kAnnotation;
      field.from = model::kNodeSettingsAnnotation;
    } else if (names(of_pool, field.path) || (whole && !of_pool.empty())) {
      field.origin = model::FieldOrigin::kPool;
    } else if (names(entry, field.path)) {
      field.origin = model::FieldOrigin::kEntry;
    } else if (names(cluster, field.path)) {
      field.origin = model::FieldOrigin::kCluster;
    }
    if (const auto line = std::ranges::find(lines, field.path, &MovedLine::field); line != lines.end()) {
      const model::LineTerms& terms = field.path.starts_with("cpu") ? calendar->line.cpu : calendar->line.memory;
      field.value = base::cat(line->moved);
      const auto side = field.path.starts_with("cpu") ? &waterline::LinePercent::cpu : &waterline::LinePercent::memory;
      field.moved = {line->configured, line->reason, calendar->calendar.name,
                     terms.entry ? calendar->calendar.entries[*terms.entry].name : "", ""};
      if (terms.phase == model::LinePhase::kOverridden) field.moved->override_by = by_text(calendar->overrides, side);
    }
    out.fields.push_back(std::move(field));
  }
  return out;
}

}  // namespace tidemark::policy::settings
