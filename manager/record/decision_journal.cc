#include "manager/record/decision_journal.h"

#include <utility>

namespace tidemark::manager {
namespace {

constexpr std::size_t kSettingsMax = 16;  // revisions whose bytes are kept ready

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

std::optional<journal::Entry> DecisionJournal::begin(const NodeDecision& decision, const Revision& revision,
                                                     bool changes) {
  if (!writer_) return std::nullopt;
  const auto now = decision.basis.mono;
  const auto [at, first] = seen_.try_emplace(model::NodeName(decision.snapshot.name));
  Seen& seen = at->second;
  const policy::OvercommitPlan& plan = decision.plan();
  const bool other = seen.action != plan.action || seen.reason != plan.reason;
  if (!changes && !first && !other && now - seen.at < kSampleEvery) return std::nullopt;
  seen = {now, plan.action, plan.reason};
  return draft(decision, settings(revision));
}

void DecisionJournal::end(std::optional<journal::Entry> entry, const DecisionDone& done) {
  if (!entry) return;
  finish(*entry, done);
  writer_->add(std::move(*entry));
}

}  // namespace tidemark::manager
