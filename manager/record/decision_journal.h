// Which decisions are kept for later, and hands them to the journal. Kept are those that change something on a node,
// this process's first look at a node, one whose reason is another than before, and one an hour of those that go on as
// they are: also of those that are tried again because the same write is refused in the same words. Without a journal
// nothing is kept and nothing is spent.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "journal/writer.h"
#include "kube/silence.h"
#include "manager/record/decision_record.h"
#include "model/names.h"

namespace tidemark::manager {

inline constexpr base::Duration kSampleEvery = std::chrono::hours(1);

struct JournalOptions {
  std::string directory;  // "": no journal
  std::int64_t megabytes = 1024;
};

class DecisionJournal {
 public:
  DecisionJournal(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, const JournalOptions& options,
                  const std::string& identity);

  void start();
  net::Task<void> drain(base::Duration limit);

  struct Draft {
    model::NodeName node;
    base::MonotonicTime at;
    policy::sell::PlanAction action = policy::sell::PlanAction::kHold;
    model::Reason reason = model::Reason::kMetricEmpty;
    journal::Entry entry;
  };
  // nullopt: this one is not kept. Before the decision's node or settings can change.
  std::optional<Draft> begin(const NodeDecision& decision, const Revision& revision, bool changes);
  void end(std::optional<Draft> draft, const DecisionDone& done);
  // Of a process that is elected: kept where it is another than the last time, or another term. One that never led has
  // nothing to tell.
  void leads(bool leading, std::int64_t epoch, base::WallTime now);
  // How long no report could come: kept where such a time has gone on for a minute, and where it is over.
  void unheard(const kube::Unheard& unheard, base::WallTime now);
  void forget(const model::NodeName& node) { seen_.erase(node); }

 private:
  struct Failure {  // the last record's, where it is one
    base::MonotonicTime at;
    policy::sell::PlanAction action = policy::sell::PlanAction::kHold;
    model::Reason reason = model::Reason::kMetricEmpty;
    std::string error;
  };
  struct Seen {
    base::MonotonicTime at;
    policy::sell::PlanAction action = policy::sell::PlanAction::kHold;
    model::Reason reason = model::Reason::kMetricEmpty;
    std::optional<Failure> failure;
  };
  bool told_before(const Draft& draft, const DecisionDone& done);
  const std::shared_ptr<const journal::Blob>& settings(const Revision& revision);

  std::unique_ptr<journal::Writer> writer_;  // null: no journal
  std::unordered_map<model::NodeName, Seen> seen_;
  bool leading_ = false;
  std::int64_t epoch_ = 0;  // in which it led last
  kube::Unheard unheard_;   // as last recorded
  // Of the revisions in force, which are few.
  std::unordered_map<std::string, std::shared_ptr<const journal::Blob>> settings_;
};

}  // namespace tidemark::manager
