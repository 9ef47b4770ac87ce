#include "manager/record/replay.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "policy/explain/offer_text.h"
#include "policy/explain/overcommit_text.h"

namespace tidemark::manager {
namespace {

using Leaves = std::map<std::string, std::string>;

void collect(const Json& value, const std::string& path, Leaves& leaves) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object()) {
      // A reason is its id: its sentence says the same again.
      if (key == "reason" && member.member("id") != nullptr) {
        leaves[base::cat(path, path.empty() ? "" : ".", key)] = member.text_at("id");
      } else {
        collect(member, base::cat(path, path.empty() ? "" : ".", key), leaves);
      }
    }
  } else if (value.is_array()) {
    std::size_t index = 0;
    for (const Json& element : value.as_array()) collect(element, base::cat(path, "[", index++, "]"), leaves);
  } else {
    leaves[path] = value.is_string() ? value.as_string() : value.dump();
  }
}

Json amounts_json(const std::optional<model::Resources>& amounts) {
  if (!amounts) return Json();
  return Json::object({{"cpu", Json(amounts->cpu.value)}, {"memory", Json(amounts->memory.value)}});
}

Json reclaim_json(const std::vector<policy::sell::ClassReclaim>& reclaim) {
  Json out = Json::object();
  for (const auto& each : reclaim) out[each.work_class] = amounts_json(each.amount);
  return out;
}

// What orders about the node left of the offer.
Json on_node_json(const NodeDecision& decision) {
  const auto& amounts = decision.plan().publish;
  const auto amount = [](const auto& value) { return value ? Json(value->value) : Json(); };
  return Json::object({{"action", Json(policy::explain::action_word(decision.plan().action))},
                       {"observed", Json(!decision.obeyed.write)},
                       {"batch-cpu", amount(amounts.batch_cpu)},
                       {"batch-memory", amount(amounts.batch_memory)},
                       {"mid-cpu", amount(amounts.mid_cpu)},
                       {"mid-memory", amount(amounts.mid_memory)},
                       {"origin", amounts_json(decision.plan().origin)},
                       {"yarnOffer", amounts_json(decision.yarn_offer)},
                       {"reclaim", reclaim_json(decision.kubernetes_reclaim)},
                       {"yarnReclaim", reclaim_json(decision.yarn_reclaim)}});
}

Leaves leaves_of(const NodeDecision& decision) {
  Leaves leaves;
  collect(policy::explain::render_json(decision.offer.plan, decision.snapshot, decision.strategy()), "", leaves);
  collect(policy::explain::render_json(decision.offer, {decision.strategy().profile, decision.calendar}), "offer",
          leaves);
  collect(on_node_json(decision), "onNode", leaves);
  return leaves;
}

void put(OnTheNode on_node, NodeDecision& decision) {
  policy::sell::OvercommitPlan& plan = decision.obeyed.plan;
  plan.action = on_node.action;
  decision.obeyed.write = on_node.write;
  plan.publish = on_node.publish;
  plan.origin = on_node.origin;
  if (!on_node.zones.empty()) plan.zones.zones = std::move(on_node.zones);
  decision.yarn_offer = on_node.yarn_offer;
  decision.kubernetes_reclaim = std::move(on_node.kubernetes_reclaim);
  decision.yarn_reclaim = std::move(on_node.yarn_reclaim);
}

}  // namespace

Result<RecordedDecisions> RecordedDecisions::make(const journal::Segment& segment) {
  if (!segment.start()) return fail(ErrorKind::kInvalid, "a segment of the journal has lost its beginning");
  TM_TRY(auto reader, RecordReader::make(*segment.start()));
  return RecordedDecisions(segment, std::move(reader));
}

const Revision* RecordedDecisions::settings(std::uint64_t hash) const {
  const auto at = revisions_.find(hash);
  return at == revisions_.end() ? nullptr : at->second.get();
}

Result<Replayed> RecordedDecisions::replay(std::string_view payload) {
  Replayed replayed;
  const auto find = [this](std::uint64_t hash) { return segment_->blob(hash); };
  TM_TRY(replayed.record, reader_.decode(payload, find));
  const std::uint64_t hash = replayed.record.settings;
  if (!revisions_.contains(hash)) {
    const auto blob = segment_->blob(hash);
    if (!blob) return fail(ErrorKind::kInvalid, "the settings that a decision rests on are missing");
    TM_TRY(auto revision, settings_of(*blob));
    revisions_.emplace(hash, std::make_unique<const Revision>(std::move(revision)));
  }
  replayed.decision = decide(replayed.record.snapshot, replayed.record.basis, *revisions_.at(hash));
  replayed.same = reader_.same(replayed.record.outcome, outcome_of(replayed.decision));
  return replayed;
}

Result<NodeDecision> RecordedDecisions::as_recorded(const Replayed& replayed) const {
  if (replayed.same) return replayed.decision;
  TM_TRY(auto outcome, reader_.decode_outcome(replayed.record.outcome));
  NodeDecision decision = replayed.decision;
  policy::sell::Offer& offer = decision.offer;
  offer.plan = std::move(outcome.plan);
  offer.strategy.values = std::move(outcome.values);
  offer.strategy.enabled = outcome.enabled;
  offer.strategy.reason = outcome.strategy_reason;
  offer.strategy.ignored = std::move(outcome.ignored);
  offer.strategy.profile = outcome.profile;
  offer.line = outcome.line;
  offer.motion = outcome.motion;
  offer.ledger = outcome.ledger;
  offer.yarn_offer = outcome.yarn_offer;
  offer.again_after = outcome.again_after;
  offer.truthful = outcome.truthful;
  offer.stopped = outcome.stopped;
  offer.arbitrate = outcome.arbitrate;
  offer.rejected = outcome.rejected;
  offer.backs_off = outcome.backs_off;
  // An older record does not tell it, and no difference is shown.
  if (reader_.tells_orders()) put(std::move(outcome.on_node), decision);
  return decision;
}

std::vector<FieldChange> differences(const NodeDecision& before, const NodeDecision& after) {
  const Leaves then = leaves_of(before);
  const Leaves now = leaves_of(after);
  std::vector<FieldChange> changes;
  for (const auto& [field, text] : then) {
    const auto at = now.find(field);
    if (at == now.end()) {
      changes.push_back({field, text, "-"});
    } else if (at->second != text) {
      changes.push_back({field, text, at->second});
    }
  }
  for (const auto& [field, text] : now) {
    if (!then.contains(field)) changes.push_back({field, "-", text});
  }
  std::sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.field < b.field; });
  return changes;
}

}  // namespace tidemark::manager
