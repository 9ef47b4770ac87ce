// A decision with all that it rests on, as bytes and back: what the journal holds (docs/decisions/0006-journal.md).
//
// Bytes are canonical: the same decision gives the same bytes in every process. Pods are sorted and numbered, because a
// decision asks only which report belongs to which pod.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/record.h"
#include "journal/store.h"
#include "manager/capacity/decide.h"
#include "manager/settings/revision.h"
#include "model/node.h"
#include "model/reason.h"
#include "policy/sell/offer/offer.h"

namespace tidemark::manager {

inline constexpr std::int64_t kRecordSchema = 10;        // of what is written
inline constexpr std::int64_t kRecordSchemaOldest = 9;   // of what is read
inline constexpr std::int64_t kRecordSchemaOrders = 10;  // the first one with orders, and what they left
// Increase it when the same input may give another outcome: then `replay` shows a difference instead of an error.
// decision_record_test detects this.
inline constexpr std::int64_t kPolicyVersion = 9;

inline constexpr char kDecisionRecord = journal::kFirstOfOwner;
inline constexpr char kLeadRecord = journal::kFirstOfOwner + 1;
inline constexpr char kSilenceRecord = journal::kFirstOfOwner + 2;
// Other records contain events beside decisions; a newer version may write kinds that this one does not know.
constexpr bool is_decision(std::string_view payload) {
  return payload.empty() || payload.front() <= kDecisionRecord;
}

enum class RecordedResult : std::uint8_t {
  kWritten,
  kUnchanged,  // what the node carries is right; kept because it was the first look at it, or for a sample
  kFailed,     // the write was refused or did not arrive; it is tried again
};
std::string_view to_string(RecordedResult);

// What orders about the node left of the offer.
struct OnTheNode {
  policy::sell::PlanAction action = policy::sell::PlanAction::kHold;
  bool write = true;  // false: observed
  model::ExtendedResources publish;
  std::optional<model::Resources> origin;
  std::vector<policy::sell::ZonePlan> zones;  // where they are not those of the offer
  std::optional<model::Resources> yarn_offer;
  std::vector<policy::sell::ClassReclaim> kubernetes_reclaim, yarn_reclaim;
  bool operator==(const OnTheNode&) const = default;
};

// What came out.
struct DecisionOutcome {
  policy::sell::OvercommitPlan plan;
  model::ColocationStrategy values;  // with the thresholds that the calendar set
  bool enabled = false;
  model::Reason strategy_reason = model::Reason::kDisabledByCluster;
  std::vector<model::Reason> ignored;
  model::Profile profile = model::Profile::kKoordinator;
  std::optional<model::LinePlan> line;
  std::optional<policy::sell::MotionPlan> motion;
  std::optional<policy::sell::LedgerPlan> ledger;
  std::optional<model::Resources> yarn_offer;
  std::optional<base::Duration> again_after;
  bool truthful = false;
  std::optional<policy::sell::StopTerms> stopped;
  std::optional<policy::sell::ArbitratePlan> arbitrate;
  std::optional<policy::sell::StopTerms> rejected;
  std::optional<policy::sell::StopTerms> backs_off;
  OnTheNode on_node;  // since schema 10
  bool operator==(const DecisionOutcome&) const = default;
};
DecisionOutcome outcome_of(const NodeDecision& decision);
std::string outcome_bytes(const DecisionOutcome& outcome);

// What was done about it, and what became of the write.
struct DecisionDone {
  policy::sell::PlanAction action = policy::sell::PlanAction::kHold;
  model::ExtendedResources publish;  // what the node was to carry
  std::string state;                 // of the node, for people

  model::Reason why = model::Reason::kWriteNotNeeded;
  RecordedResult result = RecordedResult::kUnchanged;
  std::string error;
  std::int64_t epoch = 0;
  bool operator==(const DecisionDone&) const = default;
};

DecisionDone done_of(const NodeDecision& decision, model::Reason why, RecordedResult result, std::string error,
                     std::int64_t epoch);

struct DecisionRecord {
  model::NodeSnapshot snapshot;
  DecisionBasis basis;
  std::uint64_t settings = 0;  // the blob of its settings
  std::string outcome;         // outcome_bytes()
  DecisionDone done;
};

// This process began to lead, or ended: what it decides, or has decided, holds only while it does.
struct LeadRecord {
  base::WallTime at;
  bool leads = false;
  std::int64_t epoch = 0;
  bool operator==(const LeadRecord&) const = default;
};
std::string encode(const LeadRecord& record);
std::optional<LeadRecord> decode_lead(std::string_view payload);  // nullopt: another record

// No report of any node could come (manager/capacity/no_reports.h): what the nodes offer stands as long.
struct SilenceRecord {
  base::WallTime at;
  base::Duration grew{0};  // by so much since the one before, or since this process began
  bool lasts = false;      // and goes on from `at` to the next one
  bool operator==(const SilenceRecord&) const = default;
};
std::string encode(const SilenceRecord& record);
std::optional<SilenceRecord> decode_silence(std::string_view payload);  // nullopt: another record

// ---- writing ----

// What all records of a segment need: the reason ids of this program.
std::string reason_table();
std::shared_ptr<const journal::Blob> settings_blob(const Revision& revision);
// Up to what was done about it: encoded at once, since nothing of it lasts until that is known.
journal::Entry draft(const NodeDecision& decision, const std::shared_ptr<const journal::Blob>& settings);
void finish(journal::Entry& draft, const DecisionDone& done);

// ---- reading ----

class RecordReader {
 public:
  // Error: the segment was written by a newer version, or is older than the one before this.
  static Result<RecordReader> make(const journal::Start& start);

  // Cheap: without the rest of the record.
  struct Heading {
    base::WallTime now;
    std::string_view node;
  };
  std::optional<Heading> heading(std::string_view payload) const;
  // `blob` finds the bytes of a blob by its hash.
  Result<DecisionRecord> decode(std::string_view payload,
                                const std::function<std::optional<std::string_view>(std::uint64_t)>& blob) const;
  Result<DecisionOutcome> decode_outcome(std::string_view bytes) const;
  // Whether its records say what orders left of an offer.
  bool tells_orders() const { return schema_ >= kRecordSchemaOrders; }
  // Whether the recorded bytes are those of this outcome, by whatever numbers their writer called the reasons.
  bool same(std::string_view recorded, const DecisionOutcome& outcome) const;

 private:
  bool our_form_ = false;  // written by the same schema and reason table
  std::int64_t schema_ = kRecordSchema;
  std::vector<std::optional<model::Reason>> reasons_;  // by the number in the record; nullopt: not known here
};

// The settings of a blob, read again; the rules of their time zones come with them.
Result<Revision> settings_of(std::string_view blob);

}  // namespace tidemark::manager
