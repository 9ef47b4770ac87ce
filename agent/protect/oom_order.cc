#include "agent/protect/oom_order.h"

#include <iterator>
#include <string_view>

#include "agent/enforcer/found_journal.h"
#include "base/text.h"

namespace tidemark::agent {

using model::Reason;

// Values of an earlier process cannot be restored before its journal is read: try again later.
bool OomOrder::open(base::MonotonicTime now) {
  if (scores_) return true;
  if (now < next_) return false;
  const MachinePlaces& places = parts_.places;
  auto scores = OomScores::open(parts_.hierarchies, places.proc_root, places.run_dir, boot_id(places.proc_root));
  if (scores) {
    scores_.emplace(std::move(*scores));
    return true;
  }
  next_ = now + kOomLook;
  if (trouble_ != scores.error().message) {
    trouble_ = scores.error().message;
    parts_.log.error("cannot set the OOM kill order of processes", {{"error", trouble_}});
  }
  return false;
}

void OomOrder::order(const policy::protect::OomPlan& plan, bool off, policy::state::Permit permit,
                     base::MonotonicTime now) {
  if (!open(now)) return;
  const std::pair stood(off, permit);
  if (now < next_ && stood_ == stood && plan_ == plan) return;
  stood_ = stood;
  plan_ = plan;
  const bool ends = off && permit != policy::state::Permit::kKeep;
  const OomReport& report = ends ? scores_->wind_down() : scores_->carry_out(plan, permit);
  next_ = report.more ? now : now + kOomLook;
  tell();
}

void OomOrder::tell() {
  const OomReport& report = scores_->report();
  const base::Log& log = parts_.log;
  std::string trouble = report.journal ? report.journal->message : report.trouble;
  if (trouble.empty() && report.foreign > 0) {
    trouble =
        base::cat(report.foreign, " processes are of another pid namespace: the agent has to run in the machine's");
  }
  if (trouble != trouble_ && !trouble.empty()) {
    log.warn("cannot set the OOM kill order of every process", {{"error", trouble}});
  }
  trouble_ = std::move(trouble);
  if (report.journal) parts_.metrics.journal_refused();
  for (const OomDeed& deed : report.deeds) {
    const auto id = model::reason_id(deed.reason);
    parts_.metrics.wrote(model::Strategy::kOomOrder, deed.reason);
    const auto file = base::cat(deed.pid, "/oom_score_adj");
    if (deed.error || deed.reason == Reason::kAgentNotOurs) {
      log.warn(model::reason_sentence(deed.reason), {{"group", deed.group},
                                                     {"file", file},
                                                     {"found", base::cat(deed.before)},
                                                     {"wanted", base::cat(deed.after)},
                                                     {"error", deed.error ? deed.error->message : ""},
                                                     {"reason", id}});
    } else {
      log.debug("wrote", {{"group", deed.group},
                          {"file", file},
                          {"before", base::cat(deed.before)},
                          {"after", base::cat(deed.after)},
                          {"reason", id}});
    }
    model::AuditLine line;
    line.kind = "ProcessFile";
    line.name = deed.group;
    line.part = file;
    line.old_value = base::cat(deed.before);
    line.new_value = base::cat(deed.after);
    parts_.audit.add(std::move(line), deed.reason, deed.error);
  }
}

void OomOrder::fill(AgentStatus& status) const {
  if (scores_) {
    status.oom.refused = scores_->report().refused;
    status.oom.foreign = scores_->report().foreign;
    status.oom.may_lower = scores_->may_lower();
  }
  status.oom.trouble = trouble_;
}

std::string OomOrder::says(std::string strategy) const {
  const auto add = [&](std::string_view more) { strategy += base::cat(strategy.empty() ? "" : ", ", more); };
  if (refused() > 0) {
    add(base::cat(refused(), " processes cannot be changed",
                  scores_->may_lower() ? "" : " (to lower one takes CAP_SYS_RESOURCE)"));
  }
  if (!trouble_.empty()) add(trouble_);
  return strategy;
}

}  // namespace tidemark::agent
