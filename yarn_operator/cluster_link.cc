#include "yarn_operator/cluster_link.h"

#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::yarn_operator {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(10);
// Over before another replica may have taken the lease: lease_duration − renew_deadline after we stop (kube/leader.h).
constexpr base::Duration kTellLimit = std::chrono::seconds(4);
// An update is taken by the scheduler a moment after it was answered: a report that still shows the old total says
// nothing yet.
constexpr base::Duration kTakenWithin = std::chrono::seconds(3);

std::string as_json(const hadoop::Resource& total) {
  std::string out;
  base::JsonWriter(out)
      .begin_object()
      .member("memoryMiB", total.memory_mib)
      .member("vcores", std::int64_t{total.vcores})
      .end_object();
  return out;
}

}  // namespace

ClusterLink::ClusterLink(net::EventLoop& loop, net::WorkerPool& workers, YarnCluster cluster,
                         hadoop::Overcommit overcommit, base::Log log, base::Registry& metrics, base::Random random,
                         std::function<void(model::AuditLine)> audit, std::string actor)
    : loop_(loop),
      id_(std::move(cluster.id)),
      overcommit_(overcommit),
      log_(std::move(log)),
      audit_(std::move(audit)),
      actor_(std::move(actor)),
      manager_(loop, &workers, std::move(cluster.managers), random),
      calls_failed_(
          metrics.counter("tidemark_yarn_operator_failed_calls_total", "Calls to ResourceManagers that failed.")),
      updates_(metrics.counter("tidemark_yarn_operator_updates_total", "Totals of NodeManagers that were told.")),
      set_again_(
          metrics.counter("tidemark_yarn_operator_set_again_total",
                          "Of those: because somebody else had set another one, or the NodeManager began anew.")) {
  for (const std::string& each : cluster.overruled) log_.warn("a setting is not taken", {{"why", each}});
}

const hadoop::NodeReport* ClusterLink::find(const hadoop::NodeId& id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

net::Task<Result<void>> ClusterLink::refresh() {
  auto reports = co_await manager_.nodes({}, kCallLimit);
  if (!reports) {
    calls_failed_.add();
    co_return fail(std::move(reports).error());
  }
  seen_ = loop_.clock().monotonic();
  nodes_.clear();
  for (hadoop::NodeReport& each : reports->nodes) {
    const auto told = told_.find(each.id);
    if (told != told_.end() && told->second.total == each.capability) told->second.confirmed = true;
    nodes_.insert_or_assign(each.id, std::move(each));
  }
  std::erase_if(told_, [&](const auto& each) { return !nodes_.contains(each.first); });
  for (const Error& each : reports->refused) {
    if (refused_.insert(each.message).second) log_.warn("a report that is not taken", {{"why", each.message}});
  }
  if (reports->refused.empty()) refused_.clear();
  co_return Result<void>();
}

std::vector<hadoop::NodeUpdate> ClusterLink::changed(const std::vector<Wanted>& wanted,
                                                     std::vector<model::Reason>& reasons) {
  std::vector<hadoop::NodeUpdate> updates;
  for (const Wanted& each : wanted) {
    const hadoop::NodeReport* report = find(each.nm);
    if (report == nullptr || !hadoop::is_active(report->state)) continue;
    hadoop::Resource total = report->capability;
    total.memory_mib = each.total.memory_mib;
    total.vcores = each.total.vcores;
    if (total == report->capability) continue;
    const auto told = told_.find(each.nm);
    const bool same_again = told != told_.end() && told->second.total == total;
    if (same_again && loop_.clock().monotonic() - told->second.at < kTakenWithin) continue;
    const bool undone = same_again && told->second.confirmed;
    if (undone) set_again_.add();
    reasons.push_back(undone ? model::Reason::kYarnForeign : each.reason);
    updates.push_back({each.nm, std::move(total), overcommit_});
  }
  return updates;
}

net::Task<Result<std::size_t>> ClusterLink::tell(std::vector<Wanted> wanted) {
  std::vector<model::Reason> reasons;
  const std::vector<hadoop::NodeUpdate> updates = changed(wanted, reasons);
  if (updates.empty()) co_return std::size_t{0};
  const base::MonotonicTime begin = loop_.clock().monotonic();
  const auto done = co_await manager_.update(updates, kTellLimit);
  audit(updates, reasons, done ? nullptr : &done.error(), loop_.clock().monotonic() - begin);
  if (!done) {
    calls_failed_.add();
    co_return fail(done.error());
  }
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const hadoop::NodeUpdate& each = updates[i];
    told_.insert_or_assign(each.id, Told{each.total, loop_.clock().monotonic()});
    log_.info("told", {{"nm", each.id.text()},
                       {"memory_mib", std::to_string(each.total.memory_mib)},
                       {"vcores", std::to_string(each.total.vcores)},
                       {"reason", model::reason_id(reasons[i])}});
  }
  updates_.add(updates.size());
  co_return updates.size();
}

void ClusterLink::audit(const std::vector<hadoop::NodeUpdate>& updates, const std::vector<model::Reason>& reasons,
                        const Error* error, base::Duration took) {
  if (!audit_) return;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    model::AuditLine line;
    line.time = loop_.clock().wall();
    line.actor = actor_;
    line.verb = "updateNodeResource";
    line.kind = "YarnNode";
    line.ns = id_;
    line.name = updates[i].id.text();
    if (const hadoop::NodeReport* report = find(updates[i].id)) line.old_value = as_json(report->capability);
    line.new_value = as_json(updates[i].total);
    line.reason = model::reason_id(reasons[i]);
    line.took = took;
    if (error != nullptr) {
      const bool perhaps = error->kind == ErrorKind::kUnavailable || error->kind == ErrorKind::kDeadline;
      line.outcome = perhaps ? model::AuditOutcome::kUnknown : model::AuditOutcome::kRefused;
      line.detail = error->message;
    }
    audit_(std::move(line));
  }
}

}  // namespace tidemark::yarn_operator
