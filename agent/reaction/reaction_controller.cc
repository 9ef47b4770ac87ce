#include "agent/reaction/reaction_controller.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "linux/cpu_set.h"

namespace tidemark::agent {
namespace {

using linux::File;
using Outcome = ReactionTaken::Outcome;

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kWrote:
      return "written";
    case Outcome::kWouldWrite:
      return "shown";
    case Outcome::kNotOurs:
      return "not-ours";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kUnreadable:
      break;
  }
  return "unreadable";
}

std::string quoted(const std::string& text) {
  std::string out;
  base::JsonWriter(out).value(text);
  return out;
}

std::string cores(model::CpuMilli amount) {
  return base::cat(amount.value, "m");
}

std::string text_of(const std::vector<std::int32_t>& cpus) {
  linux::CpuSet set;
  for (const std::int32_t cpu : cpus) {
    if (cpu >= 0 && cpu < linux::CpuSet::kCpusMax) set.add(cpu);
  }
  return set.text();
}

}  // namespace

ReactionController::ReactionController(const linux::Hierarchies& hierarchies, Reactor* reactor, const base::Log& log,
                                       base::Registry& metrics)
    : hierarchies_(hierarchies), reactor_(reactor), log_(log), metrics_(metrics) {
  if (reactor_ == nullptr) return;
  seconds_ = &metrics.histogram("tidemark_agent_reaction_seconds",
                                "From reading the use of online work to the written quota of offline work.",
                                {20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 5e-3, 20e-3});
}

ReactionController::~ReactionController() {
  if (reactor_ != nullptr) (void)reactor_->withdraw();
}

std::optional<ReactionTaken> ReactionController::withdraw(Enforcer* enforcer, base::MonotonicTime now) {
  if (reactor_ == nullptr) return std::nullopt;
  const auto taken = reactor_->withdraw();
  if (!taken) return std::nullopt;
  tell(*taken);
  if (taken->outcome == Outcome::kUnreadable) {
    reactor_->close_files();
  } else {
    pace_.reacted(now);
  }
  const policy::protect::ReactionStep& step = order_.steps[taken->step];
  for (std::size_t at = 0; at < taken->files && enforcer != nullptr; ++at) {
    enforcer->wrote(plan_.groups[at], file_of(plan_.policy), order_.bytes[taken->step],
                    plan_.policy == policy::protect::SuppressPolicy::kCpuset ? 0 : step.amount, step.cpus);
  }
  if (taken->outcome == Outcome::kWrote) {
    seconds_->observe(std::chrono::duration<double>(taken->took).count());
  } else {
    not_before_ = now + kReactionPause;
  }
  return taken;
}

void ReactionController::tell(const ReactionTaken& taken) {
  metrics_
      .counter(
          "tidemark_agent_reactions_total",
          "Surges of online work between two decisions, by reaction: written, shown, not-ours, refused or unreadable.",
          {{"reason", to_string(taken.outcome)}})
      .add();
  log_.info("online work uses more than the last decision knew",
            {{"group", plan_.groups.back()},
             {"file", found_name(file_of(plan_.policy))},
             {"more", cores(taken.risen)},
             {"known", cores(plan_.known)},
             {"before", order_.over},
             {"after", order_.bytes[taken.step]},
             {"outcome", to_string(taken.outcome)},
             {"error", taken.error == 0 ? "" : base::fail_errno(taken.error, "write").error().message},
             {"took_us", std::chrono::duration_cast<std::chrono::microseconds>(taken.took).count()}});
}

std::vector<model::AuditLine> ReactionController::audit_lines(const ReactionTaken& taken) const {
  std::vector<model::AuditLine> lines(taken.files);
  for (std::size_t at = 0; at < taken.files; ++at) {
    model::AuditLine& line = lines[at];
    line.kind = "CgroupFile";
    line.name = plan_.groups[at];
    line.part = found_name(file_of(plan_.policy));
    line.old_value = quoted(order_.over);
    line.new_value = quoted(order_.bytes[taken.step]);
    line.took = taken.took;
  }
  return lines;
}

void ReactionController::arm(const policy::protect::SuppressPlan& decided,
                             const policy::protect::SuppressObservation& seen, Permit permit, model::Mode mode,
                             Enforcer& enforcer, base::MonotonicTime now) {
  if (reactor_ != nullptr) says_ = try_to_arm(decided, seen, permit, mode, enforcer, now);
}

// The amount that was only decided, or that stands as our value. kNoLimit: none.
std::int64_t ReactionController::in_force(const policy::protect::SuppressPlan& decided,
                                          const policy::protect::SuppressObservation& seen, bool only_shown,
                                          const Enforcer& enforcer) {
  const bool by_cpus = decided.policy == policy::protect::SuppressPolicy::kCpuset;
  if (by_cpus && cpus_ != decided.cpus) {
    cpus_ = decided.cpus;
    cpus_text_ = text_of(cpus_);
  }
  if (only_shown) return by_cpus ? std::ssize(decided.cpus) : decided.quota_us;
  const auto stands = enforcer.value_in_force(seen.groups.besteffort, by_cpus ? File::kCpusetCpus : File::kCpuQuota);
  if (!stands) return policy::protect::kNoLimit;
  if (by_cpus) return *stands == cpus_text_ ? std::ssize(cpus_) : policy::protect::kNoLimit;
  return base::parse_int(*stands).value_or(policy::protect::kNoLimit);
}

// Overwrites the previous order: it is nearly always the same.
void ReactionController::make_order(bool only_shown) {
  const bool by_cpus = plan_.policy == policy::protect::SuppressPolicy::kCpuset;
  order_.known = plan_.known;
  order_.only_shown = only_shown;
  if (by_cpus) {
    order_.over = cpus_text_;
  } else {
    order_.over = base::cat(plan_.in_force);
  }
  order_.bytes.resize(plan_.steps.size());
  for (std::size_t at = 0; at < plan_.steps.size(); ++at) {
    const policy::protect::ReactionStep& step = plan_.steps[at];
    if (!by_cpus) {
      order_.bytes[at] = base::cat(step.amount);  // the same on v1 and on v2, where the period stays
    } else if (at >= order_.steps.size() || order_.steps[at].cpus != step.cpus || order_.bytes[at].empty()) {
      order_.bytes[at] = text_of(step.cpus);
    }
  }
  order_.steps = plan_.steps;
}

// Whether everything that it would replace is a value of ours, and the journal has everything that it would write.
bool ReactionController::announce(Enforcer& enforcer) const {
  const File file = file_of(plan_.policy);
  return std::ranges::all_of(plan_.groups, [&](const std::string& group) {
    return enforcer.value_in_force(group, file) == order_.over && enforcer.announce(group, file, order_.bytes);
  });
}

// Returns the status text.
std::string_view ReactionController::try_to_arm(const policy::protect::SuppressPlan& decided,
                                                const policy::protect::SuppressObservation& seen, Permit permit,
                                                model::Mode mode, Enforcer& enforcer, base::MonotonicTime now) {
  if (!has_thread_) return "its thread could not be started";
  if (permit == Permit::kKeep) return "what is in force stays as it is";
  const bool only_shown = permit == Permit::kRestore || mode == model::Mode::kObserve;
  plan_ =
      policy::protect::plan_reaction(decided, seen, in_force(decided, seen, only_shown, enforcer), std::move(plan_));
  if (plan_.readiness != policy::protect::ReactionReadiness::kReady) {
    reactor_->close_files();
    return to_string(plan_.readiness);
  }
  if (!pace_.may(now)) return "it reacted too often within a minute";
  if (not_before_ && now < *not_before_) return "it waits for the next decision";
  make_order(only_shown);
  if (!only_shown && !announce(enforcer)) return "what is in force is not ours everywhere, or not in the journal";
  if (const auto armed = reactor_->arm(hierarchies_, plan_, order_); !armed) {
    if (!std::exchange(told_trouble_, true)) {
      log_.warn("cannot watch the use of online work; the next decision answers its surges",
                {{"error", armed.error().message}});
    }
    return "cannot watch the use of online work";
  }
  told_trouble_ = false;
  return only_shown ? "ready, and only shown" : "ready";
}

}  // namespace tidemark::agent
