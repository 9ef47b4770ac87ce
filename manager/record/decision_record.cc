#include "manager/record/decision_record.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/text.h"
#include "manager/record/decision_fields.h"
#include "manager/state/node_permit.h"

namespace tidemark::manager {
namespace {

// Sorts pods, or reports, by id. The order of duplicates stays, because a formula may depend on it.
template <class Listed>
void sort_by_id(std::vector<Listed>& list) {
  const auto less = [](const Listed& a, const Listed& b) { return a.id < b.id; };
  const auto same = [](const Listed& a, const Listed& b) { return a.id == b.id; };
  std::vector<Listed> sorted = list;
  std::sort(sorted.begin(), sorted.end(), less);
  if (std::adjacent_find(sorted.begin(), sorted.end(), same) == sorted.end()) list = std::move(sorted);
}

// Sorted, and numbered by their place in the order of ids.
model::NodeSnapshot canonical(model::NodeSnapshot snapshot) {
  std::vector<model::PodId> ids;
  for (const auto& pod : snapshot.pods) ids.push_back(pod.id);
  sort_by_id(snapshot.pods);
  if (snapshot.metric) {
    for (const auto& pod : snapshot.metric->pods) ids.push_back(pod.id);
    sort_by_id(snapshot.metric->pods);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const auto number = [&ids](model::PodId& id) {
    const auto place = std::lower_bound(ids.begin(), ids.end(), id) - ids.begin();
    id.high = 0;
    id.low = static_cast<std::uint64_t>(place) + 1;
  };
  for (auto& pod : snapshot.pods) number(pod.id);
  if (snapshot.metric) {
    for (auto& pod : snapshot.metric->pods) number(pod.id);
  }
  return snapshot;
}

void basis_fields(auto& a, auto& basis, std::int64_t schema) {
  auto& [node, plugins, state, origin, now, mono, in_force, kubernetes, yarn, evicted] = basis;
  auto& [labels, annotation, has_yarn_offer, revisions] = node;
  auto& [overrides, guard, orders, cuts_only] = in_force;
  all(a, plugins, state, origin.on_node, mono, overrides, origin.least, kubernetes, yarn.book, yarn.obeys,
      state.kubernetes, guard, revisions.node, revisions.metric, revisions.topology, state.yarn, state.yarn_book,
      state.kubernetes_off, state.yarn_off);
  mark(a, yarn.mark);
  all(a, state.arbitrate, evicted.kubernetes, evicted.yarn);
  if (schema >= kRecordSchemaOrders) all(a, orders, cuts_only, has_yarn_offer);
  static_cast<void>(now);  // at the head of the record
  static_cast<void>(labels);
  static_cast<void>(annotation);
}

OnTheNode on_node_of(const NodeDecision& decision) {
  const policy::sell::OvercommitPlan& plan = decision.plan();
  OnTheNode out{plan.action,         decision.obeyed.write,       plan.publish,         plan.origin, {},
                decision.yarn_offer, decision.kubernetes_reclaim, decision.yarn_reclaim};
  if (plan.zones != decision.offer.plan.zones) out.zones = plan.zones.zones;
  return out;
}

}  // namespace

std::string_view to_string(RecordedResult result) {
  switch (result) {
    case RecordedResult::kWritten:
      return "written";
    case RecordedResult::kUnchanged:
      return "unchanged";
    case RecordedResult::kFailed:
      return "failed";
  }
  return "";
}

DecisionOutcome outcome_of(const NodeDecision& decision) {
  const policy::sell::Offer& offer = decision.offer;
  return {offer.plan,
          offer.strategy.values,
          offer.strategy.enabled,
          offer.strategy.reason,
          offer.strategy.ignored,
          offer.strategy.profile,
          offer.line,
          offer.motion,
          offer.ledger,
          offer.yarn_offer,
          offer.again_after,
          offer.truthful,
          offer.stopped,
          offer.arbitrate,
          offer.rejected,
          offer.backs_off,
          on_node_of(decision)};
}

DecisionDone done_of(const NodeDecision& decision, model::Reason why, RecordedResult result, std::string error,
                     std::int64_t epoch) {
  const policy::sell::OvercommitPlan& plan = decision.plan();
  return {plan.action, plan.publish, node_permit_text(decision.permit), why, result, std::move(error), epoch};
}

std::string outcome_bytes(const DecisionOutcome& outcome) {
  std::string out;
  FieldWriter writer(out);
  io(writer, outcome);
  return out;
}

std::string reason_table() {
  std::string out;
  for (const auto& row : model::all_reasons()) out += base::cat(row.id, "\n");
  return out;
}

std::shared_ptr<const journal::Blob> settings_blob(const Revision& revision) {
  std::string out;
  FieldWriter writer(out);
  writer.natural(revision.texts.slo.size());
  for (const auto& [key, text] : revision.texts.slo) all(writer, key, text);
  io(writer, revision.texts.tidemark);
  std::map<std::string_view, const model::TimeZone*> zones;
  for (const auto& calendar : revision.tidemark.calendars) zones.emplace(calendar.zone.name(), &calendar.zone);
  writer.natural(zones.size());
  for (const auto& [name, zone] : zones) {
    writer.text(name);
    writer.natural(zone->spans().size());
    for (const auto& span : zone->spans()) all(writer, span.from_s, span.offset_s);
  }
  return journal::make_blob(std::move(out));
}

Result<Revision> settings_of(std::string_view blob) {
  const std::vector<std::optional<model::Reason>> no_reasons;
  FieldReader reader(blob, no_reasons);
  policy::settings::SettingsTexts texts;
  for (auto count = reader.natural(); count > 0 && reader.ok(); --count) {
    std::string key(reader.text());
    texts.slo.insert_or_assign(std::move(key), std::string(reader.text()));
  }
  io(reader, texts.tidemark);
  policy::waterline::Zones zones;
  for (auto count = reader.natural(); count > 0 && reader.ok(); --count) {
    const std::string name(reader.text());
    std::vector<model::TimeZone::Span> spans;
    for (auto left = reader.natural(); left > 0 && reader.ok(); --left) {
      auto& span = spans.emplace_back();
      all(reader, span.from_s, span.offset_s);
    }
    if (!reader.ok()) break;
    TM_TRY(auto zone, model::TimeZone::from_spans(name, std::move(spans)));
    zones.add(std::move(zone));
  }
  if (!reader.at_end()) return fail(ErrorKind::kInvalid, "the recorded settings cannot be read");
  auto revision = revision_of(texts, [&zones](std::string_view) { return zones; });
  if (!revision || !revision->colocation.config) {
    return fail(ErrorKind::kInvalid, "this version does not take the recorded settings ",
                policy::settings::hash_of(texts));
  }
  return std::move(*revision);
}

journal::Entry draft(const NodeDecision& decision, const std::shared_ptr<const journal::Blob>& settings) {
  std::string on_node;
  FieldWriter node_writer(on_node);
  all(node_writer, decision.basis.node.labels, decision.basis.node.strategy_annotation);
  auto on_node_blob = journal::make_blob(std::move(on_node));

  journal::Entry entry;
  entry.payload += kDecisionRecord;
  FieldWriter writer(entry.payload);
  all(writer, decision.basis.now, decision.snapshot.name);
  writer.natural(settings->hash);
  writer.natural(on_node_blob->hash);
  const model::NodeSnapshot snapshot = canonical(decision.snapshot);
  io(writer, snapshot);
  basis_fields(writer, decision.basis, kRecordSchema);
  writer.text(outcome_bytes(outcome_of(decision)));
  entry.needs = {settings, std::move(on_node_blob)};
  return entry;
}

void finish(journal::Entry& draft, const DecisionDone& done) {
  FieldWriter writer(draft.payload);
  io(writer, done);
}

Result<RecordReader> RecordReader::make(const journal::Start& start) {
  if (start.schema < kRecordSchemaOldest || start.schema > kRecordSchema) {
    return fail(ErrorKind::kUnsupported, "its records have schema ", start.schema, " (by ", start.program,
                "); this program reads ", kRecordSchemaOldest, " to ", kRecordSchema);
  }
  std::map<std::string_view, model::Reason> known;
  for (const auto& row : model::all_reasons()) known.emplace(row.id, row.reason);
  RecordReader reader;
  reader.schema_ = start.schema;
  reader.our_form_ = start.schema == kRecordSchema && start.owner == reason_table();
  for (const auto id : base::split(start.owner, '\n')) {
    const auto at = known.find(id);
    reader.reasons_.push_back(at == known.end() ? std::nullopt : std::optional(at->second));
  }
  return reader;
}

std::string encode(const LeadRecord& record) {
  std::string payload(1, kLeadRecord);
  journal::Packer packer(payload);
  packer.number(record.at.since_epoch.count());
  packer.byte(record.leads ? 1 : 0);
  packer.number(record.epoch);
  return payload;
}

std::optional<LeadRecord> decode_lead(std::string_view payload) {
  if (payload.empty() || payload[0] != kLeadRecord) return std::nullopt;
  journal::Unpacker unpacker(payload.substr(1));
  LeadRecord record;
  record.at = {base::Duration(unpacker.number())};
  record.leads = unpacker.byte() != 0;
  record.epoch = unpacker.number();
  return unpacker.at_end() ? std::optional(record) : std::nullopt;
}

std::string encode(const SilenceRecord& record) {
  std::string payload(1, kSilenceRecord);
  journal::Packer packer(payload);
  packer.number(record.at.since_epoch.count());
  packer.number(record.grew.count());
  packer.byte(record.lasts ? 1 : 0);
  return payload;
}

std::optional<SilenceRecord> decode_silence(std::string_view payload) {
  if (payload.empty() || payload[0] != kSilenceRecord) return std::nullopt;
  journal::Unpacker unpacker(payload.substr(1));
  SilenceRecord record;
  record.at = {base::Duration(unpacker.number())};
  record.grew = base::Duration(unpacker.number());
  record.lasts = unpacker.byte() != 0;
  return unpacker.at_end() ? std::optional(record) : std::nullopt;
}

std::optional<RecordReader::Heading> RecordReader::heading(std::string_view payload) const {
  if (payload.empty() || payload[0] != kDecisionRecord) return std::nullopt;
  FieldReader reader(payload.substr(1), reasons_, schema_);
  Heading heading;
  io(reader, heading.now);
  heading.node = reader.text();
  if (!reader.ok()) return std::nullopt;
  return heading;
}

Result<DecisionRecord> RecordReader::decode(
    std::string_view payload, const std::function<std::optional<std::string_view>(std::uint64_t)>& blob) const {
  if (payload.empty() || payload[0] != kDecisionRecord) return fail(ErrorKind::kInvalid, "not a record of a decision");
  FieldReader reader(payload.substr(1), reasons_, schema_);
  DecisionRecord record;
  all(reader, record.basis.now, record.snapshot.name);
  record.settings = reader.natural();
  const std::uint64_t on_node = reader.natural();
  io(reader, record.snapshot);
  basis_fields(reader, record.basis, schema_);
  record.outcome = reader.text();
  io(reader, record.done);
  if (!reader.at_end()) return fail(ErrorKind::kInvalid, "a record of a decision cannot be read");
  const auto bytes = blob(on_node);
  if (!bytes) return fail(ErrorKind::kInvalid, "the labels that a decision rests on are missing");
  FieldReader node_reader(*bytes, reasons_, schema_);
  all(node_reader, record.basis.node.labels, record.basis.node.strategy_annotation);
  if (!node_reader.at_end()) return fail(ErrorKind::kInvalid, "the labels that a decision rests on cannot be read");
  return record;
}

bool RecordReader::same(std::string_view recorded, const DecisionOutcome& outcome) const {
  if (our_form_) return outcome_bytes(outcome) == recorded;
  DecisionOutcome known = outcome;
  if (schema_ < kRecordSchemaOrders) known.on_node = {};
  const std::string bytes = outcome_bytes(known);
  const auto then = decode_outcome(recorded);
  return then && outcome_bytes(*then) == bytes;
}

Result<DecisionOutcome> RecordReader::decode_outcome(std::string_view bytes) const {
  FieldReader reader(bytes, reasons_, schema_);
  DecisionOutcome outcome;
  io(reader, outcome);
  if (!reader.at_end()) return fail(ErrorKind::kInvalid, "the outcome of a decision cannot be read");
  return outcome;
}

}  // namespace tidemark::manager
