#include "manager/specs/node_slo.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "manager/capacity/decide.h"
#include "manager/leadership.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

// Beside what the caller knows lie the node's own settings, how its agent stands, and until when its lines are raised.
std::optional<std::string> told(policy::settings::KnownTold known, const OwnSettings& own,
                                std::optional<model::AgentWord> word, std::vector<model::LineCap> lines,
                                const NodeSloProjection* object, base::WallTime now) {
  const policy::settings::NodeTold carried = object == nullptr ? policy::settings::NodeTold() : object->told;
  if (own.in_force) {
    known.settings = policy::settings::node_settings_json(*own.in_force).dump();
  } else if (!carried.settings.empty()) {
    known.settings = "";
  }
  // Without settings of ours nothing is said; where something of ours stands, a word of theirs may be part of it.
  const bool ours_stand = object != nullptr && object->fingerprint.ours != 0;
  if (word || ours_stand) known.agent = std::move(word);
  if (!lines.empty() || ours_stand) known.lines = std::move(lines);
  return policy::settings::next_told(carried, known, now);
}

std::vector<policy::waterline::LineFall> falls_of(const policy::settings::SloCalendar& calendar,
                                                  const Revision& settings, base::WallTime now, LineMemos* memos) {
  if (memos == nullptr) return policy::waterline::falls(calendar.calendar, calendar.line, calendar.overrides, now);
  return memos->falls.at(settings.hash, calendar.calendar, calendar.line, calendar.overrides, now);
}

std::string object_json(std::string_view node, const policy::settings::SloSpec& spec) {
  std::string text;
  base::JsonWriter out(text);
  out.begin_object().member("apiVersion", "slo.koordinator.sh/v1alpha1").member("kind", "NodeSLO");
  out.key("metadata").begin_object().member("name", node).end_object();
  out.key("spec").raw(policy::settings::slo_spec_json(spec));
  out.end_object();
  return text;
}

}  // namespace

std::size_t NodeSloProjection::bytes() const {
  return sizeof(NodeSloProjection) + meta.name.bytes() + meta.uid.bytes() + kube::string_bytes(meta.resource_version) +
         kube::string_bytes(told.settings) +
         (told.reclaim ? told.reclaim->classes.capacity() * sizeof(model::Reclaim) : 0);
}

Result<NodeSloProjection> decode_node_slo_projection(std::string_view bytes, kube::Interner& interner) {
  TM_TRY(kube::NodeSlo slo, kube::decode_node_slo(bytes, {}, interner));
  NodeSloProjection kept;
  kept.meta = {{}, std::move(slo.meta.name), std::move(slo.meta.uid), std::move(slo.meta.resource_version)};
  kept.fingerprint = policy::settings::slo_fingerprint_of_object(slo.spec);
  if (kept.fingerprint.ours != 0) {
    if (const auto spec = Json::parse(slo.spec)) {
      const Json* ours = spec->at("extensions", "Object", "tidemark");
      if (ours != nullptr) kept.told = policy::settings::read_told(*ours);
      // Computed from the settings in every pass, so it needs no memory per node.
      kept.told.agent.reset();
      kept.told.lines = {};
    }
  }
  return kept;
}

std::uint64_t content_of(const NodeSloProjection& slo) {
  base::TextHash hash;
  for (const std::uint64_t part : slo.fingerprint.parts) hash.add(base::cat(part, ";"));
  hash.add(base::cat(slo.fingerprint.ours));
  return std::max<std::uint64_t>(hash.value(), 1);
}

OwnSettings own_settings(const kube::Node& node, const NodeSloProjection* object) {
  OwnSettings own;
  const auto* text = node.meta.annotations.find(model::kNodeSettingsAnnotation);
  if (text == nullptr) return own;
  auto read = policy::settings::parse_node_settings(text->view());
  if (read) {
    own.in_force = std::move(*read);
    own.note = model::Reason::kSloNodeSettings;
    return own;
  }
  own.problem = to_string(read.error());
  own.note = model::Reason::kSloNodeSettingsRefused;
  if (object == nullptr || object->told.settings.empty()) return own;
  // The node's NodeSLO remembers what was good.
  if (auto last_good = policy::settings::parse_node_settings(object->told.settings)) {
    own.in_force = std::move(*last_good);
    own.note = model::Reason::kSloNodeSettingsKept;
  }
  return own;
}

std::optional<model::AgentWord> agent_word(const Revision& settings, const model::Pool& pool) {
  if (!settings.texts.tidemark) return std::nullopt;
  model::AgentWord word{pool.modes.agent, settings.tidemark.classes, pool.business, pool.evict};
  if (const auto limit = policy::waterline::node_evictions_of(pool); limit < model::kEvictionsPerHourMax) {
    word.evict.per_hour = limit;
  }
  return word;
}

std::optional<policy::settings::SloCalendar> slo_calendar(const kube::Node& node, const Revision& settings,
                                                          base::WallTime now, const policy::state::Overrides* overrides,
                                                          policy::waterline::LineMemo* lines) {
  static const policy::waterline::Calendar kNone;
  const bool overridden = overrides != nullptr && overrides->any();
  if ((settings.tidemark.calendars.empty() && !overridden) || !settings.colocation.config) return std::nullopt;
  const model::Pool& pool = policy::waterline::pool_of(settings.tidemark, node.meta.labels);
  auto overriding =
      overridden ? policy::state::overrides_of(*overrides, pool.name, now) : policy::waterline::LineOverrides();
  if (!pool.calendar && overriding.empty()) return std::nullopt;
  const policy::waterline::Calendar& calendar = pool.calendar ? settings.tidemark.calendars[*pool.calendar] : kNone;
  const auto strategy = strategy_of_node(node, *settings.colocation.config, pool.profile);
  const auto [cpu, memory] =
      std::pair(strategy.values.cpu_reclaim_threshold_percent, strategy.values.memory_reclaim_threshold_percent);
  auto line = policy::waterline::water_line(lines, settings.hash, calendar, cpu, memory, overriding, now);
  return policy::settings::SloCalendar{calendar, std::move(line), std::move(overriding)};
}

NodeSloDecision decide_node_slo(const kube::Node* node, const NodeSloProjection* object, const Revision& settings,
                                base::WallTime now, const policy::state::Overrides* overrides,
                                const policy::settings::KnownTold& known, LineMemos* memos) {
  using Action = NodeObjectPlan::Action;
  NodeSloDecision decision;
  if (node == nullptr) {
    if (object == nullptr) return decision;
    decision.plan.action = Action::kRemove;
    decision.plan.reason = model::Reason::kObjectOrphan;
    decision.plan.uid = object->meta.uid.view();
    return decision;
  }
  std::optional<std::string_view> bandwidth;
  if (const auto* text = node->meta.annotations.find(model::kNetworkBandwidthAnnotation)) bandwidth = text->view();
  std::optional<policy::settings::SloShift> shift;
  std::vector<policy::waterline::LineFall> falls;
  if (const auto calendar = slo_calendar(*node, settings, now, overrides, memos == nullptr ? nullptr : &memos->lines)) {
    shift = policy::settings::slo_shift(calendar->line);
    falls = falls_of(*calendar, settings, now, memos);
    if (calendar->line.changes_at) decision.plan.again_after = *calendar->line.changes_at - now;
  }
  auto own = own_settings(*node, object);
  const auto labels = labels_of(*node);
  const model::Pool& pool = policy::waterline::pool_of(settings.tidemark, labels);
  const policy::settings::SloLayers layers{&pool.nodeslo, own.in_force ? &own.in_force->slo : nullptr};
  decision.spec = policy::settings::slo_for(settings.nodeslo, labels, bandwidth, shift, layers);
  const auto& threshold = decision.spec.parts[static_cast<std::size_t>(model::SloPart::kThreshold)].strategy;
  decision.spec.ours =
      told(known, own, agent_word(settings, pool),
           policy::settings::line_caps(threshold, shift.value_or(policy::settings::SloShift()), falls), object, now);
  decision.own_note = own.note;
  decision.own_problem = std::move(own.problem);
  decision.plan.config_hash = settings.hash;
  if (object == nullptr) {
    decision.plan.action = Action::kCreate;
    decision.plan.reason = model::Reason::kObjectMissing;
    decision.plan.body = object_json(node->meta.name, decision.spec);
    return decision;
  }
  decision.plan.content = content_of(*object);
  decision.plan.revision = revision_number(object->meta.resource_version);
  decision.plan.body = policy::settings::slo_patch(decision.spec, object->fingerprint, object->meta.resource_version);
  if (decision.plan.body.empty()) return decision;
  decision.plan.action = Action::kPatch;
  decision.plan.patch = kube::PatchType::kJson;
  decision.plan.reason = model::Reason::kObjectDiffers;
  return decision;
}

}  // namespace tidemark::manager
