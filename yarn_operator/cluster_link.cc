#include "yarn_operator/cluster_link.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::yarn_operator {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(10);
// Ends before another replica can have the lease: lease_duration − renew_deadline after we stop (kube/leader.h).
constexpr base::Duration kTellLimit = std::chrono::seconds(4);
// The scheduler applies an update a moment after the answer, so a report that still shows the old total proves nothing.
constexpr base::Duration kTakenWithin = std::chrono::seconds(3);
// A call that timed out may still run for so long, because it waits in the server's queue.
constexpr base::Duration kArrivesWithin = std::chrono::seconds(30);
// Applications that request a container every second still count as waiting between two requests.
constexpr base::Duration kContentAfter = std::chrono::minutes(1);

// After this many single nodes were refused, the cause is not one node: the rest is not split further.
constexpr int kRefusedMax = 8;

// False for a node that is being decommissioned: its ResourceManager sets the total to what the containers hold at each
// heartbeat, so that no container starts there. Our total would open room until the next heartbeat.
bool is_told(hadoop::NodeState state) {
  return hadoop::is_active(state) && state != hadoop::NodeState::kDecommissioning;
}

// Of at most a day: a ResourceManager counts milliseconds in 31 bits.
hadoop::Overcommit overcommit_of(base::Duration grace) {
  constexpr base::Duration kMax = std::chrono::hours(24);
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(std::clamp(grace, base::Duration(0), kMax));
  return hadoop::Overcommit::kill_after(static_cast<std::int32_t>(milliseconds.count()));
}

bool perhaps_taken(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kDeadline;
}

// A refusal that may be about one of several nodes: the caller is allowed, and the server answers.
bool perhaps_for_one(const Error& error) {
  return !perhaps_taken(error) && error.kind != ErrorKind::kDenied && error.kind != ErrorKind::kUnsupported;
}

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

void add_to(policy::sell::CalculatorReading& reading, const hadoop::NodeReport& report) {
  if (!report.labels.empty()) return;
  if (report.state != hadoop::NodeState::kRunning && report.state != hadoop::NodeState::kDecommissioning) return;
  reading.used.memory_mib += report.used.memory_mib;
  reading.used.vcores += report.used.vcores;
  reading.total.memory_mib += report.capability.memory_mib;
  reading.total.vcores += report.capability.vcores;
}

ClusterLink::ClusterLink(net::EventLoop& loop, net::WorkerPool& workers, YarnCluster cluster, base::Log log,
                         base::Registry& metrics, base::Random random, Auditing audit)
    : loop_(loop),
      id_(std::move(cluster.id)),
      work_class_(std::move(cluster.work_class)),
      class_place_(std::move(cluster.class_place)),
      log_(std::move(log)),
      audit_(std::move(audit)),
      smallest_(std::move(cluster.smallest)),
      manager_(loop, &workers, std::move(cluster.managers), random),
      calls_failed_(
          metrics.counter("tidemark_yarn_operator_failed_calls_total", "Calls to ResourceManagers that failed.")),
      updates_(metrics.counter("tidemark_yarn_operator_updates_total", "NodeManager totals sent.")),
      set_again_(
          metrics.counter("tidemark_yarn_operator_set_again_total",
                          "Totals sent again because another program had changed them or the NodeManager restarted.")),
      failovers_seen_(metrics.counter("tidemark_yarn_operator_failovers_total",
                                      "Failovers to another ResourceManager of a cluster.")) {
  for (const std::string& each : cluster.overruled) log_.warn("setting ignored", {{"why", each}});
}

const hadoop::NodeReport* ClusterLink::find(const hadoop::NodeId& id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : &found->second;
}

const ActsOn* ClusterLink::acts_on(const hadoop::NodeId& id) const {
  const auto found = acts_on_.find(id);
  return found == acts_on_.end() ? nullptr : &found->second;
}

net::Task<void> ClusterLink::refresh_managers() {
  // One without HA refuses the question and logs that, so it is not asked again while it answers the poll.
  const bool is_single = manager_.members().size() == 1 && managers_.size() == 1;
  if (is_single && managers_[0].state == to_string(hadoop::HaState::kActive) && answers()) co_return;
  const auto states = co_await manager_.states();
  managers_.resize(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    std::string_view state = "unknown";
    if (states[i]) {
      state = to_string(*states[i]);
    } else if (states[i].error().kind == ErrorKind::kUnavailable || states[i].error().kind == ErrorKind::kDeadline) {
      state = "away";
    }
    if (managers_[i].state == state) continue;
    const hadoop::RmAddresses& of = manager_.members()[i];
    managers_[i] = {id_, of.id, of.admin.text(), std::string(state), loop_.clock().wall()};
  }
}

bool ClusterLink::unsure(const hadoop::NodeId& id) const {
  const auto found = unsure_.find(id);
  return found != unsure_.end() && looked_ < found->second.until && found->second.failovers == manager_.failovers();
}

bool ClusterLink::begins() const {
  return began_ && loop_.clock().monotonic() - *began_ < kKnowsAllAfter;
}

bool ClusterLink::may_hold_more(const hadoop::NodeId& id) const {
  const auto came = came_.find(id);
  return came != came_.end() && loop_.clock().monotonic() - came->second < kKnowsAllAfter;
}

std::optional<ContainerRoom> ClusterLink::room(const std::vector<Wanted>& wanted) const {
  std::map<hadoop::NodeId, const hadoop::Resource*> totals;
  for (const Wanted& each : wanted) totals[each.nm] = &each.total;
  std::optional<ContainerRoom> room;
  for (const auto& [id, report] : nodes_) {
    if (report.state != hadoop::NodeState::kRunning) continue;
    if (!room) room.emplace();
    const auto at = totals.find(id);
    const hadoop::Resource& total = at == totals.end() ? report.capability : *at->second;
    if (total.memory_mib >= smallest_.memory_mib && total.vcores >= smallest_.vcores) room->for_the_smallest = true;
    const auto size = [](const hadoop::Resource& of) { return std::tie(of.memory_mib, of.vcores); };
    if (!report.labels.empty() || size(total) <= size(room->largest_total)) continue;
    room->largest_node = id;
    room->largest_total = total;
  }
  const hadoop::QueueWaiting waiting = waiting_ ? waiting_->amount : hadoop::QueueWaiting();
  if (room && room->largest_total.memory_mib > 0 && waiting.containers > 0 && waiting.memory_mib > 0) {
    room->waits_in_vain = (waiting.memory_mib - 1) / waiting.containers >= room->largest_total.memory_mib;
  }
  return room;
}

net::Task<Result<void>> ClusterLink::refresh() {
  TM_CO_TRY_VOID(co_await refresh_nodes());
  co_await look_who_waits();
  co_return Result<void>();
}

net::Task<Result<void>> ClusterLink::refresh_nodes() {
  const base::MonotonicTime asked = loop_.clock().monotonic();
  auto reports = co_await manager_.nodes({}, kCallLimit);
  if (seen_ && asked < looked_) co_return Result<void>();  // a later request was answered first
  if (!reports) {
    calls_failed_.add();
    away_ = true;
    co_return fail(std::move(reports).error());
  }
  looked_ = asked;
  look_who_answered();
  const bool first = !seen_ && !began_;  // nothing shows that nodes joined
  seen_ = loop_.clock().monotonic();
  take(std::move(reports->nodes), first);
  for (const Error& each : reports->refused) {
    if (refused_.insert(each.message).second) log_.warn("cannot read node report", {{"why", each.message}});
  }
  if (reports->refused.empty()) refused_.clear();
  co_return Result<void>();
}

void ClusterLink::look_who_answered() {
  const bool another = manager_.failovers() != failovers_;
  if (another) {
    failovers_seen_.add(manager_.failovers() - failovers_);
    failovers_ = manager_.failovers();
    told_.clear();  // they went to another ResourceManager
    log_.info("another ResourceManager is active", {{"id", manager_.active()->id}});
  }
  if (!another && !away_) return;
  away_ = false;
  began_ = loop_.clock().monotonic();
  nodes_.clear();  // all nodes register anew with the active ResourceManager
}

void ClusterLink::take(std::vector<hadoop::NodeReport> reports, bool first) {
  for (const hadoop::NodeReport& each : reports) {
    const hadoop::NodeReport* before = find(each.id);
    const bool came = hadoop::is_active(each.state) && (before == nullptr || !hadoop::is_active(before->state));
    if (came && !first) came_[each.id] = *seen_;
  }
  nodes_.clear();
  for (hadoop::NodeReport& each : reports) {
    look_what_is_acted_on(each);
    nodes_.insert_or_assign(each.id, std::move(each));
  }
  const auto is_gone = [&](const auto& each) { return !nodes_.contains(each.first); };
  std::erase_if(told_, is_gone);
  std::erase_if(acts_on_, is_gone);
  std::erase_if(came_, is_gone);
  std::erase_if(unsure_, [&](const auto& each) { return each.second.until <= looked_; });
}

void ClusterLink::look_what_is_acted_on(const hadoop::NodeReport& report) {
  // Nothing reverts our last total when the node is recommissioned.
  if (report.state == hadoop::NodeState::kDecommissioning) told_.erase(report.id);
  if (const auto told = told_.find(report.id); told != told_.end() && told->second.total == report.capability) {
    told->second.confirmed = true;
    if (!unsure(report.id))
      acts_on_.insert_or_assign(report.id, ActsOn{told->second.generation, told->second.counts_as});
    return;
  }
  const auto known = acts_on_.find(report.id);
  if (known == acts_on_.end()) return;
  ActsOn& acts = known->second;
  if (acts.total == report.capability) {
    acts.differs_since.reset();
  } else if (!acts.differs_since) {
    acts.differs_since = looked_;
  } else if (looked_ - *acts.differs_since >= kBelievedAfter) {
    acts = {acts.generation, report.capability};
  }
}

net::Task<void> ClusterLink::look_who_waits() {
  const auto root = co_await manager_.root_queue(kCallLimit);
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (!root) {
    calls_failed_.add();
    if (!std::exchange(unknown_said_, true)) {
      log_.warn("unknown whether applications wait", {{"why", root.error().message}});
    }
    // A single missing answer does not show that nothing waits.
    if (waiting_ && now - waiting_->asked_at >= kContentAfter) waiting_.reset();
    co_return;
  }
  unknown_said_ = false;
  const bool first = !waiting_;
  if (first) waiting_.emplace();
  waiting_->asked_at = now;
  look_at_calculator(root->used_share_permille);
  const hadoop::QueueWaiting& amount = root->waiting;
  const bool some = amount != hadoop::QueueWaiting();
  if (some) waiting_->at = now;
  if (some || first || now - waiting_->at >= kContentAfter) waiting_->amount = amount;
}

void ClusterLink::look_at_calculator(std::optional<std::int64_t> used_share_permille) {
  if (!used_share_permille) return;
  policy::sell::CalculatorReading reading{*used_share_permille, {}, {}};
  for (const auto& [id, report] : nodes_) add_to(reading, report);
  calculator_ = policy::sell::next_calculator(calculator_, reading);
}

std::optional<hadoop::QueueWaiting> ClusterLink::waiting_for(const hadoop::NodeId& id) const {
  const hadoop::NodeReport* report = find(id);
  if (!waiting_ || (report != nullptr && !report->labels.empty())) return std::nullopt;
  return waiting_->amount;
}

ClusterLink::Changes ClusterLink::changed(const std::vector<Wanted>& wanted) {
  Changes changes;
  for (const Wanted& each : wanted) {
    const hadoop::NodeReport* report = find(each.nm);
    if (report == nullptr || !is_told(report->state)) continue;
    const auto told = told_.find(each.nm);
    // The report was requested before the total was sent, so it does not contain it.
    const bool told_since = told != told_.end() && told->second.at > looked_;
    hadoop::Resource total = report->capability;
    total.memory_mib = each.total.memory_mib;
    total.vcores = each.total.vcores;
    hadoop::Resource counts_as = each.counts_as.value_or(total);
    counts_as.others = total.others;
    const hadoop::Resource& now = told_since ? told->second.total : report->capability;
    if (total != now && each.waits && each.waits(now)) {
      // Growth that waits: the current total is in force, even if a previous operator set it.
      const bool unknown = !told_since && !unsure(each.nm) && !acts_on_.contains(each.nm);
      if (unknown) acts_on_.emplace(each.nm, ActsOn{each.generation, report->capability});
      continue;
    }
    if (total == now) {
      if (told_since) {
        told->second.generation = each.generation;
        told->second.counts_as = counts_as;
        continue;
      }
      told_.insert_or_assign(each.nm, Told{total, each.generation, looked_, true, counts_as});
      if (!unsure(each.nm)) acts_on_.insert_or_assign(each.nm, ActsOn{each.generation, counts_as});
      continue;
    }
    const bool same_again = told != told_.end() && told->second.total == total;
    if (same_again && loop_.clock().monotonic() - told->second.at < kTakenWithin) continue;
    const bool undone = same_again && told->second.confirmed;
    if (undone) changes.set_again.push_back(each.node);
    const bool was_looked_for = same_again && looked_ - told->second.at >= kTakenWithin;
    if (was_looked_for && !begins()) changes.told_again.push_back(each.node);
    changes.reasons.push_back(undone ? model::Reason::kYarnForeign : each.reason);
    changes.of.push_back(&each);
    changes.counts_as.push_back(std::move(counts_as));
    // Not `keep`: Koordinator's operator sets a timeout of zero with each update, and that persists.
    changes.updates.push_back({each.nm, std::move(total), hadoop::Overcommit::kill_never()});
  }
  return changes;
}

net::Task<Result<Telling>> ClusterLink::tell(std::vector<Wanted> wanted) {
  Changes changes = changed(wanted);
  if (changes.updates.empty()) co_return Telling();
  set_again_.add(changes.set_again.size());
  TM_CO_TRY(const auto sent, co_await send(std::move(changes.updates), changes.reasons));
  const base::MonotonicTime now = loop_.clock().monotonic();
  for (const auto& [each, index] : sent) {
    const Wanted& of = *changes.of[index];
    told_.insert_or_assign(each.id, Told{each.total, of.generation, now, false, changes.counts_as[index]});
  }
  co_return Telling{sent.size(), std::move(changes.set_again), std::move(changes.told_again)};
}

net::Task<Result<std::set<hadoop::NodeId>>> ClusterLink::preempt(std::vector<Preemption> preemptions) {
  std::vector<hadoop::NodeUpdate> updates;
  std::vector<model::Reason> reasons;
  for (Preemption& each : preemptions) {
    updates.push_back({std::move(each.nm), std::move(each.total), overcommit_of(each.grace)});
    reasons.push_back(each.reason);
  }
  TM_CO_TRY(const auto sent, co_await send(std::move(updates), reasons));
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::set<hadoop::NodeId> taken;
  for (const auto& [each, index] : sent) {
    taken.insert(each.id);
    const auto before = told_.find(each.id);
    const ActsOn* acts = acts_on(each.id);
    told_.insert_or_assign(each.id, Told{each.total, before == told_.end() ? 0 : before->second.generation, now, false,
                                         acts == nullptr ? each.total : acts->total});
  }
  co_return taken;
}

net::Task<Result<hadoop::ContainerReport>> ClusterLink::container(const hadoop::ContainerId& id) {
  auto report = co_await manager_.container(id, kTellLimit);
  if (!report && report.error().kind != ErrorKind::kNotFound) calls_failed_.add();
  co_return report;
}

net::Task<Result<std::vector<ClusterLink::Sent>>> ClusterLink::send(std::vector<hadoop::NodeUpdate> updates,
                                                                    const std::vector<model::Reason>& reasons) {
  Sending sending;
  auto done = co_await send_part(updates, reasons, 0, sending);
  if (sending.sent.empty() && !done) co_return fail(std::move(done).error());
  updates_.add(sending.sent.size());
  co_return std::move(sending.sent);
}

net::Task<Result<void>> ClusterLink::send_part(std::span<const hadoop::NodeUpdate> updates,
                                               std::span<const model::Reason> reasons, std::size_t first,
                                               Sending& sending) {
  const base::MonotonicTime begin = loop_.clock().monotonic();
  auto done = co_await manager_.update({updates.begin(), updates.end()}, kTellLimit);
  const base::MonotonicTime now = loop_.clock().monotonic();
  const bool for_one = !done && perhaps_for_one(done.error());
  if (for_one && updates.size() > 1 && sending.refused < kRefusedMax) {
    const std::size_t half = updates.size() / 2;
    const auto one = co_await send_part(updates.first(half), reasons.first(half), first, sending);
    const auto two = co_await send_part(updates.subspan(half), reasons.subspan(half), first + half, sending);
    co_return one ? two : one;
  }
  audit(updates, reasons, done ? nullptr : &done.error(), now - begin);
  if (!done) {
    calls_failed_.add();
    // The request or only its answer was lost. A refused update never comes into force.
    if (perhaps_taken(done.error())) {
      for (const hadoop::NodeUpdate& each : updates) unsure_[each.id] = {now + kArrivesWithin, manager_.failovers()};
    }
    if (for_one && updates.size() == 1) {
      ++sending.refused;
      log_.warn("cannot set the total of a node; retrying",
                {{"nm", updates.front().id.text()}, {"why", done.error().message}});
    }
    co_return done;
  }
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const hadoop::NodeUpdate& each = updates[i];
    log_.info("total sent", {{"nm", each.id.text()},
                             {"memory_mib", std::to_string(each.total.memory_mib)},
                             {"vcores", std::to_string(each.total.vcores)},
                             {"reason", model::reason_id(reasons[i])}});
    sending.sent.push_back({each, first + i});
  }
  co_return done;
}

void ClusterLink::audit(std::span<const hadoop::NodeUpdate> updates, std::span<const model::Reason> reasons,
                        const Error* error, base::Duration took) {
  if (!audit_.write) return;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    model::AuditLine line;
    line.time = loop_.clock().wall();
    line.actor = audit_.actor;
    line.verb = "updateNodeResource";
    line.kind = "YarnNode";
    line.ns = id_;
    line.name = updates[i].id.text();
    if (const hadoop::NodeReport* report = find(updates[i].id)) line.old_value = as_json(report->capability);
    line.new_value = as_json(updates[i].total);
    line.reason = model::reason_id(reasons[i]);
    line.took = took;
    if (error != nullptr) {
      line.outcome = perhaps_taken(*error) ? model::AuditOutcome::kUnknown : model::AuditOutcome::kRefused;
      line.detail = error->message;
    }
    audit_.write(std::move(line));
  }
}

}  // namespace tidemark::yarn_operator
