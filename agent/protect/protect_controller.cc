#include "agent/protect/protect_controller.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "agent/protect/host_peer.h"
#include "agent/protect/machinery.h"
#include "base/json.h"
#include "base/text.h"
#include "policy/protect/limits/task_groups.h"

namespace tidemark::agent {
namespace {

using model::Reason;

constexpr base::Duration kBeginAgain = std::chrono::seconds(10);
constexpr base::Duration kShowAtLeast = std::chrono::seconds(10);  // the status on the machine, if nothing changes
constexpr base::Duration kKubeletLook = std::chrono::minutes(1);

constexpr std::size_t kNamedMax = 5;

// Pods without requests that are not offline: the kubelet puts them into the same group as offline work.
std::string online_in_besteffort(const TaskSnapshot& snapshot) {
  std::string out;
  std::size_t found = 0;
  for (const ListedTask& each : snapshot.tasks) {
    const model::Task& task = *each.task;
    const bool is_one = task.kind == model::TaskKind::kPod && task.kube_qos == model::KubeQos::kBestEffort &&
                        policy::protect::may_be_written(task) && !policy::protect::is_offline(task);
    if (!is_one || ++found > kNamedMax) continue;
    out += base::cat(out.empty() ? "" : ", ", task.ns, "/", task.name);
  }
  if (found > kNamedMax) out += base::cat(" and ", found - kNamedMax, " more");
  return out;
}

std::vector<std::string> groups_of_online(const TaskSnapshot& snapshot) {
  std::vector<std::string> out;
  for (const ListedTask& each : snapshot.tasks) {
    if (!policy::protect::is_offline(*each.task) && !each.task->terminal()) out.push_back(each.task->path);
  }
  return out;
}

// Strategies that write nothing and will not soon, also if safe start leaves their values as they are. The others are
// decided without them. For a strategy in `keep` for lack of information, this is unknown too.
policy::state::ByStrategy<bool> only_observed(const policy::state::AgentPermits& stands) {
  policy::state::ByStrategy<bool> out{};
  for (std::size_t at = 0; at < out.size(); ++at) {
    const policy::state::Permit permit = stands.permits[at];
    const bool kept = permit == policy::state::Permit::kKeep && stands.reasons[at] == Reason::kAgentHolds;
    out[at] = permit == policy::state::Permit::kPutBack || kept;
  }
  return out;
}

std::string quoted_json(std::string_view text) {
  std::string out;
  base::JsonWriter(out).value(text);
  return out;
}

}  // namespace

ProtectController::ProtectController(net::EventLoop& loop, ProtectOutside outside, const base::Log& log,
                                     base::Registry& metrics, Machinery machinery, ProtectOptions options)
    : loop_(loop),
      outside_(std::move(outside)),
      log_(log),
      metrics_(metrics),
      options_(std::move(options)),
      run_latch_(run_latch(options_.places.run_dir)),
      strategies_(outside_.hierarchies, std::move(machinery)),
      reaction_(outside_.hierarchies, outside_.reactor, log_, metrics) {
  // A machine that was off before a reboot is off from the first second.
  if (const auto kept = look_at(options_.places.latch_file); kept && !look_at(run_latch_)) {
    if (const auto set = set_latch(run_latch_, *kept); !set) {
      log_.warn("cannot copy the machine's latch", {{"error", set.error().message}});
      latch_not_copied_ = true;
      latch_ = kept;
    }
  }
  next_status_.trials = options_.trials;
  next_status_.measures = options_.measures;
}

void ProtectController::use_node(NodeFacts facts) {
  for (const Error& each : facts.unreadable) {
    log_.warn("cannot read an annotation of the node; ignored", {{"error", each.message}});
  }
  facts_ = std::move(facts);
  decide();
}

void ProtectController::use_rules(policy::protect::NodeRules rules) {
  rules_ = std::move(rules);
  decide();
}

void ProtectController::observe(const Measured& measured, const std::shared_ptr<const TaskSnapshot>& tasks,
                                const PodGroups& groups, bool known) {
  measured_ = &measured;
  tasks_ = tasks;
  groups_ = &groups;
  known_ = known;
  decide();
}

// The folder of an unreadable journal stays locked, so that others know that an agent runs.
Result<FoundJournal> ProtectController::open_journal() {
  if (!lock_) {
    TM_TRY(auto lock, FoundLock::take(options_.places.run_dir));
    lock_.emplace(std::move(lock));
  }
  return FoundJournal::open(*lock_, options_.places.run_dir, boot_id(options_.places.proc_root));
}

bool ProtectController::begin() {
  if (enforcer_) return true;
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (begin_again_ && now < *begin_again_) return false;
  begin_again_ = now + kBeginAgain;
  auto journal = open_journal();
  if (!journal) {
    if (trouble_ != journal.error().message) {
      log_.error("nothing can be written on this node", {{"error", journal.error().message}});
    }
    trouble_ = journal.error().message;
    return false;
  }
  journal_.emplace(std::move(*journal));
  lock_.reset();
  if (journal_->read_at_start().unreadable > 0) {
    log_.warn("invalid lines in the journal", {{"lines", std::to_string(journal_->read_at_start().unreadable)}});
  }
  if (auto ends = Ends::begin(options_.places.run_dir, loop_.clock().boot())) {
    ends_.emplace(std::move(*ends));
    holding_ = ends_->unexpected() >= policy::state::kHoldAfterEnds;
    if (holding_) {
      log_.warn("safe start: the agent ended unexpectedly several times",
                {{"ends", std::to_string(ends_->unexpected())}});
    }
  } else {
    log_.warn("cannot record this start; an unexpected end would not be counted", {{"error", ends.error().message}});
  }
  enforcer_ = std::make_unique<Enforcer>(outside_.hierarchies, outside_.writer, *journal_, loop_.clock());
  began_ = now;
  trouble_.clear();
  return true;
}

// If the user may not search the folder, there is no latch: without root it writes nothing and could not remove one.
std::optional<Latch> ProtectController::look_at(const std::string& path) {
  auto seen = see_latch(path, ::geteuid() == 0);
  if (seen) {
    latches_unseen_.erase(path);
    return std::move(*seen);
  }
  if (latches_unseen_.insert(path).second) {
    log_.warn("cannot read whether this machine is switched off; it counts as on", {{"error", seen.error().message}});
  }
  return std::nullopt;
}

void ProtectController::look_at_latch() {
  auto now = look_at(run_latch_);
  // If no copy could be made, the kept latch counts.
  if (!now && latch_not_copied_) now = look_at(options_.places.latch_file);
  if (now == latch_) return;
  if (now) {
    log_.warn("switched off on this machine", {{"by", now->by}, {"why", now->why}, {"trouble", now->trouble}});
  } else {
    log_.info("no longer switched off on this machine");
  }
  latch_ = std::move(now);
}

void ProtectController::look_at_kubelet(base::MonotonicTime now) {
  if (looked_at_kubelet_ && now - *looked_at_kubelet_ < kKubeletLook) return;
  looked_at_kubelet_ = now;
  kubelet_static_ = kubelet_is_static(options_.kubelet_dir);
}

void ProtectController::look_for_online_in_besteffort() {
  if (looked_at_tasks_ == tasks_->change) return;
  looked_at_tasks_ = tasks_->change;
  next_status_.online_in_besteffort = online_in_besteffort(*tasks_);
}

void ProtectController::look_for_peer(base::MonotonicTime now) {
  const bool runs = std::ranges::any_of(tasks_->tasks, [&](const ListedTask& each) {
    return policy::state::runs_peers_agent(*each.task, options_.peers_namespace);
  });
  if (sees_peer_beside_pods(now) || runs) peer_seen_ = now;
  peer_present_ = peer_seen_ && now - *peer_seen_ < policy::state::kPeerStays;
}

// True only in the pass that found it.
bool ProtectController::sees_peer_beside_pods(base::MonotonicTime now) {
  if (looked_beside_pods_ && now - *looked_beside_pods_ < policy::state::kPeerLook) return false;
  looked_beside_pods_ = now;
  const auto found = find_host_peer(options_.places.proc_root);
  if (!found) {
    log_.warn("cannot find out whether Koordinator's agent runs outside pods", {{"error", found.error().message}});
    return false;
  }
  if (*found && *found != peer_beside_pods_) {
    log_.warn("Koordinator's agent runs outside pods", {{"process", static_cast<std::int64_t>(**found)}});
  }
  peer_beside_pods_ = *found;
  return found->has_value();
}

policy::state::AgentPermits ProtectController::find_permits() const {
  policy::state::PermitInputs inputs;
  inputs.known = known_ && rules_ && facts_;
  inputs.state_known = facts_.has_value();
  inputs.marks = facts_ ? &facts_->state.marks : nullptr;
  for (const model::Strategy strategy : model::kStrategies) {
    const bool said = rules_ && rules_->word;
    inputs.modes[static_cast<std::size_t>(strategy)] = said                            ? rules_->mode_of(strategy)
                                                       : options_.gates.lets(strategy) ? options_.mode
                                                                                       : model::Mode::kObserve;
  }
  inputs.latched = latch_.has_value();
  inputs.holding = holding_;
  inputs.peer_present = peer_present_;
  inputs.only_shows = !options_.only_shows.empty();
  return policy::state::agent_permits(inputs, loop_.clock().wall());
}

// Before any decision: from here on only the enforcer writes.
void ProtectController::withdraw_reaction() {
  const base::MonotonicTime now = loop_.clock().monotonic();
  const auto taken = reaction_.withdraw(enforcer_.get(), now);
  if (!taken || taken->files == 0) return;
  strategies_.narrowed(now);
  for (model::AuditLine& line : reaction_.audit_lines(*taken)) {
    metrics_.wrote(model::Strategy::kCpuSuppress, Reason::kSuppressSurge);
    tell_audit(std::move(line), Reason::kSuppressSurge, {});
  }
}

void ProtectController::decide() {
  if (measured_ == nullptr || !tasks_) return;
  withdraw_reaction();
  look_at_latch();
  const base::MonotonicTime now = loop_.clock().monotonic();
  look_at_kubelet(now);
  look_for_online_in_besteffort();
  look_for_peer(now);
  // First: a new agent may have to begin in safe start from this pass on.
  const bool writes = begin();
  stands_ = find_permits();
  const policy::state::AgentPermits& stands = stands_;
  const policy::state::ByStrategy<bool> observed = only_observed(stands);
  const auto wanted = strategies_.ask({.facts = facts_ ? &*facts_ : nullptr,
                                       .rules = rules_ ? &*rules_ : nullptr,
                                       .measured = measured_,
                                       .tasks = tasks_.get(),
                                       .groups = groups_,
                                       .kubelet_static = kubelet_static_,
                                       .known = known_,
                                       .off = stands.off,
                                       .limits_cpu_alone = stands.limits_cpu_alone,
                                       .lacks_priority = enforcer_ && enforcer_->lacks(model::Strategy::kCpuPriority),
                                       .observed = observed},
                                      now);
  tell_refused();
  if (!writes) return show(stands, {});
  if (holding_ && now - began_ >= policy::state::kHoldWindow) {
    holding_ = false;
    log_.info("safe start is over: no unexpected end for ten minutes");
  }
  if (ends_ && now - began_ >= policy::state::kHoldWindow) forget_ends();
  Permits permits = stands.permits;
  Permit& suppress = permits[static_cast<std::size_t>(model::Strategy::kCpuSuppress)];
  // If off before the strategy's file is known, keep the file that an earlier agent set.
  const bool by_which = rules_ || enforcer_->in_force(model::Strategy::kCpuSuppress) == 0;
  if ((strategies_.suppress_plan().holds || !by_which) && suppress == Permit::kEnforce) suppress = Permit::kKeep;
  // With the systemd driver, the kubelet resets it each minute: react to that at once, without waiting for the next
  // look.
  const policy::protect::SuppressObservation& seen = strategies_.suppress_seen();
  if (seen.besteffort_quota_us) {
    enforcer_->saw(seen.groups.besteffort, linux::File::kCpuQuota, *seen.besteffort_quota_us);
  }
  enforcer_->spare(holding_ && known_ ? groups_of_online(*tasks_) : std::vector<std::string>());
  const Enforced& enforced = enforcer_->carry_out(wanted, permits, stands.off);
  tell(enforced);
  order_oom(now);
  const bool said = rules_ && rules_->word;
  reaction_.arm(strategies_.suppress_plan(), seen, suppress,
                said ? rules_->word->modes.of_reaction() : model::Mode::kEnforce, *enforcer_, now);
  show(stands, enforced);
}

// Values of an earlier process cannot be restored before its journal is read: try again later.
bool ProtectController::open_oom_scores(base::MonotonicTime now) {
  if (oom_) return true;
  if (now < next_oom_) return false;
  auto scores = OomScores::open(outside_.hierarchies, options_.places.proc_root, options_.places.run_dir,
                                boot_id(options_.places.proc_root));
  if (scores) {
    oom_.emplace(std::move(*scores));
    return true;
  }
  next_oom_ = now + kOomLook;
  if (oom_trouble_ != scores.error().message) {
    oom_trouble_ = scores.error().message;
    log_.error("cannot set the OOM kill order of processes", {{"error", oom_trouble_}});
  }
  return false;
}

void ProtectController::order_oom(base::MonotonicTime now) {
  if (!open_oom_scores(now)) return;
  const std::pair stood(stands_.off, stands_.permits[static_cast<std::size_t>(model::Strategy::kOomOrder)]);
  const policy::protect::OomPlan& plan = strategies_.oom_plan();
  if (now < next_oom_ && oom_stood_ == stood && oom_asked_ == plan) return;
  oom_stood_ = stood;
  oom_asked_ = plan;
  const bool off = stood.first && stood.second != Permit::kKeep;
  const OomReport& report = off ? oom_->wind_down() : oom_->carry_out(plan, stood.second);
  next_oom_ = report.more ? now : now + kOomLook;
  tell_oom();
}

void ProtectController::tell_oom() {
  const OomReport& report = oom_->report();
  std::string trouble = report.journal ? report.journal->message : report.trouble;
  if (trouble.empty() && report.foreign > 0) {
    trouble =
        base::cat(report.foreign, " processes are of another pid namespace: the agent has to run in the machine's");
  }
  if (trouble != oom_trouble_ && !trouble.empty()) {
    log_.warn("cannot set the OOM kill order of every process", {{"error", trouble}});
  }
  oom_trouble_ = std::move(trouble);
  if (report.journal) metrics_.journal_refused();
  for (const OomDeed& deed : report.deeds) {
    const auto id = model::reason_id(deed.reason);
    metrics_.wrote(model::Strategy::kOomOrder, deed.reason);
    const auto file = base::cat(deed.pid, "/oom_score_adj");
    if (deed.error || deed.reason == Reason::kAgentNotOurs) {
      log_.warn(model::reason_sentence(deed.reason), {{"group", deed.group},
                                                      {"file", file},
                                                      {"found", base::cat(deed.before)},
                                                      {"wanted", base::cat(deed.after)},
                                                      {"error", deed.error ? deed.error->message : ""},
                                                      {"reason", id}});
    } else {
      log_.debug("wrote", {{"group", deed.group},
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
    tell_audit(std::move(line), deed.reason, deed.error);
  }
}

std::string ProtectController::oom_says() const {
  std::string out = strategies_.says(model::Strategy::kOomOrder);
  const auto add = [&](std::string_view more) { out += base::cat(out.empty() ? "" : ", ", more); };
  if (oom_ && oom_->report().refused > 0) {
    add(base::cat(oom_->report().refused, " processes cannot be changed",
                  oom_->may_lower() ? "" : " (to lower one takes CAP_SYS_RESOURCE)"));
  }
  if (!oom_trouble_.empty()) add(oom_trouble_);
  return out;
}

std::optional<std::int64_t> ProtectController::container_cpus() const {
  const policy::protect::SuppressPlan& plan = strategies_.suppress_plan();
  const bool in_force = enforcer_ && enforcer_->in_force(model::Strategy::kCpuSuppress) > 0;
  if (!kubelet_static_ || !in_force || plan.policy != policy::protect::SuppressPolicy::kCpuset) return std::nullopt;
  return std::ssize(plan.cpus);
}

// Names pods by their owner; a group without an owner by its path.
void ProtectController::tell_refused() {
  std::vector<std::string> refused;
  for (const policy::protect::PriorityPlan::Refused& each : strategies_.refused()) {
    const auto owner =
        std::ranges::find_if(tasks_->tasks, [&](const ListedTask& listed) { return listed.task->path == each.group; });
    refused.push_back(
        base::cat(owner == tasks_->tasks.end() ? each.group : base::cat(owner->task->ns, "/", owner->task->name), ": ",
                  each.why));
  }
  for (const std::string& each : told_refused_.take(std::move(refused))) {
    log_.warn("koordinator.sh/cpuQOS cannot be read; no CPU priority for this pod", {{"pod", each}});
  }
}

void ProtectController::tell(const Enforced& enforced) {
  if (enforced.journal) {
    if (trouble_ != enforced.journal->message) {
      log_.error("cannot write the restore journal; nothing new is written to the kernel",
                 {{"error", enforced.journal->message}});
    }
    trouble_ = enforced.journal->message;
    metrics_.journal_refused();
  } else {
    trouble_.clear();
  }
  for (const Deed& deed : enforced.deeds) {
    const auto id = model::reason_id(deed.reason);
    metrics_.wrote(deed.strategy, deed.reason);
    const auto file = found_name(deed.file);
    const bool foreign = deed.reason == Reason::kAgentStandsBack || deed.reason == Reason::kAgentNotOurs ||
                         (deed.reason == Reason::kAgentRepaired && !deed.reset);
    const bool plain = !deed.error && !foreign;
    if (plain) {
      log_.debug(
          "wrote",
          {{"group", deed.group}, {"file", file}, {"before", deed.before}, {"after", deed.after}, {"reason", id}});
    } else {
      log_.warn(model::reason_sentence(deed.reason), {{"group", deed.group},
                                                      {"file", file},
                                                      {"found", deed.before},
                                                      {"wanted", deed.after},
                                                      {"error", deed.error ? deed.error->message : ""},
                                                      {"reason", id}});
    }
    model::AuditLine line;
    line.kind = "CgroupFile";
    line.name = deed.group;
    line.part = file;
    line.old_value = quoted_json(deed.before);
    line.new_value = quoted_json(deed.after);
    tell_audit(std::move(line), deed.reason, deed.error);
  }
}

void ProtectController::tell_audit(model::AuditLine line, model::Reason reason, const std::optional<Error>& error) {
  if (!outside_.audit) return;
  line.time = loop_.clock().wall();
  line.actor = options_.actor;
  line.verb = "write";
  line.reason = model::reason_id(reason);
  if (error) {
    line.outcome = model::AuditOutcome::kRefused;
    line.detail = error->message;
  }
  outside_.audit(std::move(line));
}

// Called each second, mostly without changes: overwrites in place and allocates nothing.
void ProtectController::fill_status(const policy::state::AgentPermits& permits, const Enforced& enforced) {
  AgentStatus& next = next_status_;
  next.pid = ::getpid();
  next.off = permits.off;
  next.latched = latch_.has_value();
  next.holding = holding_;
  next.peer_present = peer_present_;
  next.mark_generation = facts_ ? facts_->state.marks.generation : 0;
  next.by.clear();
  next.why.clear();
  if (latch_) {
    next.by = latch_->by;
    next.why = latch_->why;
  } else if (permits.order) {
    next.by = permits.order->by;
    next.why = permits.order->why;
  }
  next.refused = enforced.refused + (oom_ ? oom_->report().refused : 0);
  if (oom_) {
    next.oom.refused = oom_->report().refused;
    next.oom.foreign = oom_->report().foreign;
    next.oom.may_lower = oom_->may_lower();
  }
  next.oom.trouble = oom_trouble_;
  next.left = enforced.left;
  next.unmet = static_cast<std::int64_t>(strategies_.unmet());
  next.trouble = trouble_;
  next.only_shows = options_.only_shows;
  next.evict_lines = evict_lines_;
  next.line_ends = line_ends_;
  next.copilots = copilots_say_;
  const auto rung = policy::protect::priority_knob(strategies_.capabilities());
  next.priority_by = rung ? to_string(*rung) : std::string_view();
  const bool may_suppress =
      permits.permits[static_cast<std::size_t>(model::Strategy::kCpuSuppress)] == policy::state::Permit::kEnforce;
  next.offline_group.clear();
  if (may_suppress && groups_ != nullptr && groups_->kubepods() != nullptr) {
    next.offline_group = groups_->kubepods()->qos_path(linux::KubeQos::kBestEffort);
  }
  next.strategies.resize(model::kStrategies.size());
  for (const model::Strategy strategy : model::kStrategies) {
    const auto index = static_cast<std::size_t>(strategy);
    StrategyStatus& told = next.strategies[index];
    told.strategy = strategy;
    told.permit = to_string(permits.permits[index]);
    told.reason = model::reason_id(permits.reasons[index]);
    told.in_force = enforcer_ ? enforcer_->in_force(strategy) : 0;
    switch (strategy) {
      case model::Strategy::kEviction:
        told.says = eviction_says_;
        break;
      case model::Strategy::kOomOrder:
        told.in_force = oom_ ? std::ssize(oom_->entries()) : 0;
        told.says = oom_says();
        break;
      case model::Strategy::kCpuSuppress:
        told.says = strategies_.says(strategy);
        if (reaction_.is_there()) told.says.append("; reaction: ").append(reaction_.says());
        break;
      default:
        told.says = strategies_.says(strategy);
    }
  }
}

void ProtectController::show(const policy::state::AgentPermits& permits, const Enforced& enforced) {
  fill_status(permits, enforced);
  AgentStatus& next = next_status_;
  metrics_.show(next, strategies_.refused().size());
  metrics_.show(strategies_.suppress_plan().classes);
  next.at = status_.at;
  outside_.condition.tell(next);
  const base::MonotonicTime now = loop_.clock().monotonic();
  if (next == status_ && shown_at_ && now - *shown_at_ < kShowAtLeast) return;
  next.at = loop_.clock().wall();
  status_ = next;
  shown_at_ = now;
  // Another process may own the folder and write its status there.
  if (!journal_ && !lock_) return;
  if (const auto written = write_status(options_.places.run_dir, status_); !written) {
    log_.warn("cannot write the agent's status", {{"error", written.error().message}});
  }
}

void ProtectController::drain() {
  if (ends_) forget_ends();
}

void ProtectController::forget_ends() {
  if (const auto forgotten = ends_->forget(); !forgotten) {
    log_.warn("cannot reset the unexpected ends; earlier starts still count", {{"error", forgotten.error().message}});
  }
  ends_.reset();
}

}  // namespace tidemark::agent
