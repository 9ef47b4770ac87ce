#include "manager/record/decision_journal.h"

#include <utility>

namespace tidemark::manager {
namespace {

constexpr std::size_t kSettingsMax = 16;                          // revisions whose bytes are kept ready
constexpr base::Duration kSilenceTold = std::chrono::minutes(1);  // shorter ones once they come to that together

journal::StoreOptions store_options(const JournalOptions& options, const std::string& identity) {
  journal::StoreOptions store;
  store.directory = options.directory;
  store.bytes_max = options.megabytes << 20;
  store.start.schema = kRecordSchema;
  store.start.version = kPolicyVersion;
  store.start.program = "tidemark " TIDEMARK_VERSION;
  store.start.identity = identity;
  store.start.owner = reason_table();
  return store;
}

}  // namespace

DecisionJournal::DecisionJournal(net::EventLoop& loop, const base::Log& log, base::Registry& metrics,
                                 const JournalOptions& options, const std::string& identity) {
  if (options.directory.empty()) return;
  writer_ = std::make_unique<journal::Writer>(loop, log, metrics, store_options(options, identity));
}

void DecisionJournal::start() {
  if (writer_) writer_->start();
}

net::Task<void> DecisionJournal::drain(base::Duration limit) {
  if (writer_) co_await writer_->drain(limit);
}

const std::shared_ptr<const journal::Blob>& DecisionJournal::settings(const Revision& revision) {
  if (const auto at = settings_.find(revision.hash); at != settings_.end()) return at->second;
  if (settings_.size() >= kSettingsMax) settings_.clear();
  return settings_.emplace(revision.hash, settings_blob(revision)).first->second;
}

std::optional<DecisionJournal::Draft> DecisionJournal::begin(const NodeDecision& decision, const Revision& revision,
                                                             bool changes) {
  if (!writer_) return std::nullopt;
  const auto now = decision.basis.mono;
  const model::NodeName node(decision.snapshot.name);
  const auto [at, first] = seen_.try_emplace(node);
  Seen& seen = at->second;
  const policy::sell::OvercommitPlan& plan = decision.plan();
  const bool other = seen.action != plan.action || seen.reason != plan.reason;
  if (!changes && !first && !other && now - seen.at < kSampleEvery) return std::nullopt;
  seen.at = now;
  seen.action = plan.action;
  seen.reason = plan.reason;
  return Draft{node, now, plan.action, plan.reason, draft(decision, settings(revision))};
}

// A write that is refused is tried again every minute or more often, on as many nodes as there are: in full each time
// it would push out what came before within an hour.
bool DecisionJournal::told_before(const Draft& draft, const DecisionDone& done) {
  const auto at = seen_.find(draft.node);
  if (at == seen_.end()) return false;
  std::optional<Failure>& last = at->second.failure;
  if (done.result != RecordedResult::kFailed) {
    last.reset();
    return false;
  }
  if (last && last->action == draft.action && last->reason == draft.reason && last->error == done.error &&
      draft.at - last->at < kSampleEvery) {
    return true;
  }
  last = {draft.at, draft.action, draft.reason, done.error};
  return false;
}

void DecisionJournal::leads(bool leading, std::int64_t epoch, base::WallTime now) {
  // A lease that was lost and won again between two passes is a new term: another leader may have written in between.
  if (!writer_ || (leading == leading_ && (!leading || epoch == epoch_))) return;
  leading_ = leading;
  epoch_ = epoch;
  writer_->add({encode(LeadRecord{now, leading, epoch}), {}});
}

void DecisionJournal::unheard(const kube::Unheard& unheard, base::WallTime now) {
  const base::Duration grew = unheard.total - unheard_.total;
  if (!writer_ || (unheard_.lasts ? unheard.lasts : grew < kSilenceTold)) return;
  // Before anything is kept of any node there is nothing that it could be held against.
  if (!seen_.empty()) writer_->add({encode(SilenceRecord{now, grew, unheard.lasts}), {}});
  unheard_ = unheard;
}

void DecisionJournal::end(std::optional<Draft> draft, const DecisionDone& done) {
  if (!draft || told_before(*draft, done)) return;
  finish(draft->entry, done);
  writer_->add(std::move(draft->entry));
}

}  // namespace tidemark::manager
