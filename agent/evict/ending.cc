#include "agent/evict/ending.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "agent/tasks/group_path.h"
#include "base/json.h"
#include "base/text.h"
#include "copilot/yarn_id.h"
#include "kube/actions.h"
#include "policy/admission/eviction.h"

namespace tidemark::agent {
namespace {

using linux::KillReport;
using policy::admission::EvictionDenial;
using policy::evict::EvictOutcome;

constexpr std::string_view kNoCopilot = "no copilot lists it any more";
constexpr int kConflictCode = 409, kTooManyCode = 429, kServerErrorCode = 500;

// Denials because of the pod itself, not of the request.
constexpr std::array kOfThePod = {EvictionDenial::kOnline, EvictionDenial::kAnotherPod, EvictionDenial::kMirror,
                                  EvictionDenial::kAnotherNode};

// The webhook gives its word as a cause of the Status (manager/webhook).
bool says(const kube::Status& refusal, EvictionDenial word) {
  return refusal.has_cause(to_string(word));
}

bool is_forbidden_by_budget(const kube::Status& refusal) {
  return refusal.has_cause("DisruptionBudget") || says(refusal, EvictionDenial::kJobBudget) ||
         says(refusal, EvictionDenial::kPoolBudget);
}

// So an API server refuses a pod that has two budgets, and so it reports an error of its etcd.
bool has_no_reason(const kube::Status& refusal) {
  return refusal.code == kServerErrorCode && refusal.reason.empty() && refusal.causes.empty();
}

bool is_busy(const Error& error, const kube::Status& refusal) {
  // An overloaded API server answers 429 as well.
  return error.code == kTooManyCode || says(refusal, EvictionDenial::kTooMany) ||
         says(refusal, EvictionDenial::kNotKnown);
}

// `refusal`: empty if the server sent no Status, for example because a proxy answered.
EvictOutcome outcome_of(const Error& error, const kube::Status& refusal) {
  if (is_forbidden_by_budget(refusal)) return EvictOutcome::kForbidden;
  if (is_busy(error, refusal)) return EvictOutcome::kBusy;
  if (error.kind == ErrorKind::kNotFound && refusal.reason == "NotFound") return EvictOutcome::kGone;
  if (error.code == kConflictCode) return EvictOutcome::kNever;
  if (std::ranges::any_of(kOfThePod, [&](EvictionDenial word) { return says(refusal, word); })) {
    return EvictOutcome::kNever;
  }
  return EvictOutcome::kUnreachable;
}

bool may_not_be_ended(const model::Task& task) {
  return task.fixed || task.kind == model::TaskKind::kHostApplication ||
         (task.kind == model::TaskKind::kPod && (task.identity.task.empty() || task.name.empty()));
}

std::string_view text_of(EvictOutcome outcome) {
  switch (outcome) {
    case EvictOutcome::kAccepted:
      return "accepted";
    case EvictOutcome::kForbidden:
      return "forbidden";
    case EvictOutcome::kNever:
      return "never";
    case EvictOutcome::kUnreachable:
      return "unreachable";
    case EvictOutcome::kGone:
      return "gone";
    case EvictOutcome::kPreempted:
      return "preempted";
    case EvictOutcome::kReplaced:
      return "replaced";
    case EvictOutcome::kSent:
      return "sent";
    case EvictOutcome::kBusy:
      return "busy";
  }
  return "unknown";
}

}  // namespace

Ending::Ending(net::EventLoop& loop, EndingOutside outside, base::Log log, std::string actor)
    : loop_(loop),
      outside_(std::move(outside)),
      log_(std::move(log)),
      actor_(std::move(actor)),
      worker_(1, kKillsWaitingMax) {}

net::Task<EvictOutcome> Ending::ask(const model::Task& task, model::Reason why, base::Duration grace, bool itself) {
  if (may_not_be_ended(task)) return answer(EvictOutcome::kNever);
  Of of{task.identity.source, task.identity.task, task.ns, task.name, task.path, why, grace};
  switch (task.kind) {
    case model::TaskKind::kPod:
      return told(evict(of), of);
    case model::TaskKind::kCopilotTask:
      return told(end_container(task, of, itself), of);
    case model::TaskKind::kHostApplication:
      break;
  }
  return answer(EvictOutcome::kNever);
}

net::Task<EvictOutcome> Ending::answer(EvictOutcome outcome) {
  co_return outcome;
}

net::Task<EvictOutcome> Ending::told(net::Task<Told> asking, Of of) {
  const Told answer = co_await std::move(asking);
  if (!answer.error.empty()) {
    log_.warn("cannot ask a task to end", {{"outcome", text_of(answer.outcome)},
                                           {"source", of.source},
                                           {"task", of.task},
                                           {"namespace", of.ns},
                                           {"name", of.name},
                                           {"error", answer.error}});
  }
  co_return answer.outcome;
}

net::Task<Ending::Told> Ending::evict(Of of) {
  kube::EvictOptions options;
  options.uid = of.task;
  options.note.reason = model::reason_id(of.why);
  kube::Status refusal;
  options.refusal = &refusal;
  auto done = co_await kube::evict_pod(outside_.writer, of.ns, of.name, options, kEvictionLimit);
  if (done) co_return Told{EvictOutcome::kAccepted, {}};
  EvictOutcome outcome = outcome_of(done.error(), refusal);
  if (has_no_reason(refusal) && co_await refuses_though_etcd_works(of, std::move(options))) {
    outcome = EvictOutcome::kForbidden;
  }
  co_return Told{outcome, done.error().message};
}

// Without budgets in its way a dry run is accepted, also if etcd refuses writes: the server writes nothing. It reads
// the node from etcd.
net::Task<bool> Ending::refuses_though_etcd_works(Of of, kube::EvictOptions options) {
  kube::Status again;
  options.dry_run = true;
  options.refusal = &again;
  const auto tried = co_await kube::evict_pod(outside_.writer, of.ns, of.name, std::move(options), kProbeLimit);
  if (tried || !has_no_reason(again)) co_return false;
  co_return (co_await outside_.reader.get(kube::kNodes, "", outside_.node, kProbeLimit)).has_value();
}

net::Task<Ending::Told> Ending::end_container(const model::Task& task, Of of, bool itself) {
  copilot::Client* const copilot = outside_.copilot ? outside_.copilot(task) : nullptr;
  const bool yarn = copilot::parse_yarn_container(task.identity.task).has_value();
  const bool preempts = yarn && outside_.yarn_reclaim != nullptr && outside_.yarn_reclaim->heard();
  if (preempts && !itself) return preempt(copilot, std::move(of));
  return stop_container(copilot, std::move(of));
}

net::Task<Ending::Told> Ending::preempt(copilot::Client* copilot, Of of) {
  const base::MonotonicTime begin = loop_.clock().monotonic();
  switch (co_await outside_.yarn_reclaim->ask(of.task, of.why, of.grace)) {
    case YarnReclaimOutcome::kGone:
      // Its NodeManager kills it within a heartbeat; a copilot is faster.
      if (copilot != nullptr) co_await kill_container(copilot, std::move(of));
      co_return Told{EvictOutcome::kPreempted, {}};
    case YarnReclaimOutcome::kStayed:
      co_return Told{EvictOutcome::kReplaced, {}};
    case YarnReclaimOutcome::kRefused:
    case YarnReclaimOutcome::kNotHeard:
      break;
  }
  of.grace = std::max(of.grace - (loop_.clock().monotonic() - begin), base::Duration(0));
  co_return co_await stop_container(copilot, std::move(of));
}

net::Task<Ending::Told> Ending::stop_container(copilot::Client* copilot, Of of) {
  if (copilot == nullptr) co_return Told{EvictOutcome::kUnreachable, std::string(kNoCopilot)};
  const auto grace = std::chrono::ceil<std::chrono::seconds>(of.grace + kCopilotKillsLater);
  auto done = co_await copilot->stop({of.task, grace, std::string(model::reason_id(of.why))}, kCopilotLimit);
  if (!done && done.error().kind == ErrorKind::kUnsupported) co_return co_await kill_container(copilot, std::move(of));
  std::string value;
  base::JsonWriter(value).begin_object().member("graceSeconds", static_cast<std::int64_t>(grace.count())).end_object();
  tell_audit("stop", "CopilotTask", of, of.task, std::move(value), done ? nullptr : &done.error());
  if (done) co_return Told{EvictOutcome::kAccepted, {}};
  co_return Told{EvictOutcome::kUnreachable, done.error().message};
}

net::Task<Ending::Told> Ending::kill_container(copilot::Client* copilot, Of of) {
  if (copilot == nullptr) co_return Told{EvictOutcome::kUnreachable, std::string(kNoCopilot)};
  auto done = co_await copilot->kill(of.task, kCopilotLimit);
  tell_audit("kill", "CopilotTask", of, of.task, {}, done ? nullptr : &done.error());
  if (done) co_return Told{EvictOutcome::kAccepted, {}};
  // A copilot answers 400 to every error and seldom gives the reason: the task may be gone or not.
  co_return Told{EvictOutcome::kUnreachable, done.error().message};
}

net::Task<Result<KillReport>> Ending::kill(const model::Task& task, model::Reason why) {
  if (may_not_be_ended(task)) {
    return refuse({ErrorKind::kDenied,
                   base::cat(task.ns, "/", task.name, " is fixed to the node, runs beside the pods, or has no uid")});
  }
  return kill_group({task.identity.source, task.identity.task, task.ns, task.name, task.path, why});
}

net::Task<Result<KillReport>> Ending::refuse(Error error) {
  co_return fail(std::move(error));
}

net::Task<Result<KillReport>> Ending::kill_group(Of of) {
  const bool again = stay_.contains(of.path);
  auto done = co_await on_worker(of.path, again ? &linux::GroupKiller::kill_again : &linux::GroupKiller::kill);
  if (done) note_who_stays(of.path, done->left > 0);
  std::string value;
  if (done) {
    base::JsonWriter(value)
        .begin_object()
        .member("killed", static_cast<std::int64_t>(done->killed))
        .member("left", static_cast<std::int64_t>(done->left))
        .end_object();
  }
  tell_audit("kill", "Cgroup", of, of.path, std::move(value), done ? nullptr : &done.error());
  co_return done;
}

// A task that left the list is not killed again: its entries are removed together.
void Ending::note_who_stays(const std::string& path, bool stays) {
  if (!stays) {
    stay_.erase(path);
    return;
  }
  if (stay_.size() >= policy::evict::kLeavingMax) stay_.clear();
  stay_.insert(path);
}

net::Task<Result<KillReport>> Ending::on_worker(std::string path,
                                                Result<KillReport> (linux::GroupKiller::*end)(const std::string&)) {
  TM_CO_TRY(const std::string checked, group_path(path));
  if (checked.empty() || checked != path) {
    co_return fail(ErrorKind::kInvalid, "a task's group is wanted, found ", base::in_quotes(path));
  }
  auto done = co_await worker_.run<Result<KillReport>>(
      loop_, [&groups = outside_.groups, end, checked] { return (groups.*end)(checked); });
  if (!done) co_return fail(std::move(done).error());
  co_return std::move(*done);
}

void Ending::tell_audit(std::string_view verb, std::string_view kind, const Of& of, std::string name, std::string value,
                        const Error* error) {
  if (!outside_.audit) return;
  model::AuditLine line;
  line.time = loop_.clock().wall();
  line.actor = actor_;
  line.verb = verb;
  line.kind = kind;
  line.ns = of.ns;
  line.name = std::move(name);
  line.new_value = std::move(value);
  line.reason = model::reason_id(of.why);
  if (error != nullptr) {
    const bool unknown = error->kind == ErrorKind::kDeadline || error->kind == ErrorKind::kUnavailable;
    line.outcome = unknown ? model::AuditOutcome::kUnknown : model::AuditOutcome::kRefused;
    line.detail = error->message;
  }
  outside_.audit(std::move(line));
}

}  // namespace tidemark::agent
