#include "agent/protect/protect_controller.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "agent/protect/machinery.h"
#include "base/json.h"
#include "base/text.h"
#include "linux/cpu_set.h"
#include "policy/protect/limits/task_groups.h"
#include "policy/protect/suppress/room.h"

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
policy::state::ByStrategy<bool> only_observed(const policy::state::AgentPermits& permits) {
  policy::state::ByStrategy<bool> out{};
  for (std::size_t at = 0; at < out.size(); ++at) {
    const policy::state::Permit permit = permits.permits[at];
    const bool kept = permit == policy::state::Permit::kKeep && permits.reasons[at] == Reason::kAgentHolds;
    out[at] = permit == policy::state::Permit::kRestore || kept;
  }
  return out;
}

// The name of the container of the cgroup; "" for the task's own. nullopt: the cgroup is not of the task.
std::optional<std::string> container_of(const model::Task& task, const std::string& group) {
  if (group == task.path) return "";
  if (!policy::protect::lies_below(group, task.path)) return std::nullopt;
  const auto found = std::ranges::find(task.containers, group, &model::TaskContainer::path);
  if (found != task.containers.end() && !found->name.empty()) return found->name;
  return group.substr(task.path.size() + 1);
}

std::string value_of(const policy::protect::KnobWrite& write) {
  if (write.knob != policy::protect::Knob::kCpusetCpus) return std::to_string(write.value);
  linux::CpuSet set;
  for (const std::int32_t cpu : write.cpus) set.add(cpu);
  return set.text();
}

std::string_view text_of(LimitState state) {
  switch (state) {
    case LimitState::kInForce:
      return model::kLimitInForce;
    case LimitState::kRefused:
      return "refused";
    case LimitState::kLeft:
      return "left";
    case LimitState::kNotWritten:
      break;
  }
  return "notWritten";
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
      audit_(loop.clock(), options_.actor, std::move(outside_.audit)),
      latch_(options_.places, log_),
      peer_(options_.places.proc_root, options_.peers_namespace, log_),
      strategies_(outside_.hierarchies, std::move(machinery)),
      reaction_(outside_.hierarchies, outside_.reactor, log_, metrics),
      oom_({outside_.hierarchies, options_.places, log_, metrics_, audit_}) {
  next_status_.trials = options_.trials;
  next_status_.measures = options_.measures;
  next_status_.gates_without_effect = options_.gates_without_effect;
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
    log_.warn("invalid lines in the restore journal",
              {{"lines", std::to_string(journal_->read_at_start().unreadable)}});
  }
  if (auto ends = Ends::begin(options_.places.run_dir, loop_.clock().boot())) {
    ends_.emplace(std::move(*ends));
    holding_ = ends_->unexpected() >= policy::state::kHoldAfterEnds;
    if (holding_) {
      log_.warn("safe start: the agent crashed repeatedly; limits only tighten for ten minutes",
                {{"crashes", std::to_string(ends_->unexpected())}});
    }
  } else {
    log_.warn("cannot record this start; a crash would not be counted", {{"error", ends.error().message}});
  }
  enforcer_ = std::make_unique<Enforcer>(outside_.hierarchies, outside_.writer, *journal_, loop_.clock());
  began_ = now;
  trouble_.clear();
  return true;
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
  inputs.latched = latch_.latch().has_value();
  inputs.holding = holding_;
  inputs.peer_present = peer_.is_present();
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
    audit_.add(std::move(line), Reason::kSuppressSurge);
  }
}

void ProtectController::decide() {
  if (measured_ == nullptr || !tasks_) return;
  withdraw_reaction();
  latch_.look();
  const base::MonotonicTime now = loop_.clock().monotonic();
  look_at_kubelet(now);
  look_for_online_in_besteffort();
  peer_.look(*tasks_, now);
  // First: a new agent may have to begin in safe start from this pass on.
  const bool writes = begin();
  permits_ = find_permits();
  const policy::state::AgentPermits& permits = permits_;
  const policy::state::ByStrategy<bool> observed = only_observed(permits);
  const auto wanted = strategies_.ask({.facts = facts_ ? &*facts_ : nullptr,
                                       .rules = rules_ ? &*rules_ : nullptr,
                                       .measured = measured_,
                                       .tasks = tasks_.get(),
                                       .groups = groups_,
                                       .kubelet_static = kubelet_static_,
                                       .known = known_,
                                       .lacks_priority = enforcer_ && enforcer_->lacks(model::Strategy::kCpuPriority),
                                       .permits = &permits,
                                       .observed = observed},
                                      now);
  tell_refused();
  if (!writes) return show(permits, {});
  if (holding_ && now - began_ >= policy::state::kHoldWindow) {
    holding_ = false;
    log_.info("safe start is over: the agent ran for ten minutes without a crash");
  }
  if (ends_ && now - began_ >= policy::state::kHoldWindow) forget_ends();
  Permits in_use = permits.permits;
  Permit& suppress = in_use[static_cast<std::size_t>(model::Strategy::kCpuSuppress)];
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
  const Enforced& enforced = enforcer_->carry_out(wanted, in_use, permits.off);
  tell(enforced);
  oom_.order(strategies_.oom_plan(), permits.off, permits.permits[static_cast<std::size_t>(model::Strategy::kOomOrder)],
             now);
  const bool said = rules_ && rules_->word;
  reaction_.arm(strategies_.suppress_plan(), seen, suppress,
                said ? rules_->word->modes.of_reaction() : model::Mode::kEnforce, *enforcer_, now);
  show(permits, enforced);
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
    audit_.add(std::move(line), deed.reason, deed.error);
  }
}

// Called each second, mostly without changes: overwrites in place and allocates nothing.
void ProtectController::fill_status(const policy::state::AgentPermits& permits, const Enforced& enforced) {
  AgentStatus& next = next_status_;
  next.pid = ::getpid();
  next.off = permits.off;
  const std::optional<Latch>& latch = latch_.latch();
  next.latched = latch.has_value();
  next.holding = holding_;
  next.peer_present = peer_.is_present();
  next.mark_generation = facts_ ? facts_->state.marks.generation : 0;
  next.by.clear();
  next.why.clear();
  if (latch) {
    next.by = latch->by;
    next.why = latch->why;
  } else if (permits.order) {
    next.by = permits.order->by;
    next.why = permits.order->why;
  }
  next.refused = enforced.refused + oom_.refused();
  oom_.fill(next);
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
        told.in_force = oom_.in_force();
        told.says = oom_.says(strategies_.says(strategy));
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

std::vector<model::TaskLimit> ProtectController::limits_of(const model::Task& task) const {
  std::vector<model::TaskLimit> out;
  if (task.path.empty()) return out;
  const auto add = [&](const policy::protect::KnobWrite& write, std::string container, LimitState state) {
    const auto strategy = static_cast<std::size_t>(write.strategy);
    const bool may = permits_.permits[strategy] == policy::state::Permit::kEnforce;
    Reason reason = write.reason;
    if (state == LimitState::kRefused) reason = Reason::kKnobRefused;
    if (state == LimitState::kLeft) reason = Reason::kAgentStandsBack;
    if (state == LimitState::kNotWritten && !may) reason = permits_.reasons[strategy];
    out.push_back({std::move(container), std::string(to_string(write.knob)), value_of(write),
                   std::string(text_of(state)), std::string(model::reason_id(reason))});
  };
  for (const bool is_written : {true, false}) {
    const auto writes = is_written ? strategies_.writes() : strategies_.only_shown();
    auto at = std::ranges::lower_bound(writes, task.path, {}, &policy::protect::KnobWrite::group);
    for (; at != writes.end() && at->group.starts_with(task.path); ++at) {
      auto container = container_of(task, at->group);
      const bool written = is_written && enforcer_;
      if (container) add(*at, *std::move(container), written ? enforcer_->state_of(*at) : LimitState::kNotWritten);
    }
  }
  return out;
}

void ProtectController::drain() {
  if (ends_) forget_ends();
}

void ProtectController::forget_ends() {
  if (const auto forgotten = ends_->forget(); !forgotten) {
    log_.warn("cannot reset the count of crashes; earlier crashes still count", {{"error", forgotten.error().message}});
  }
  ends_.reset();
}

}  // namespace tidemark::agent
