// Ends one task: first asks its owner to end it, then kills it if it stays.
//
//            asked                                                            killed
//   pod      policy/v1 Eviction of that uid, with the pod's own grace period  its whole group (linux/cgroup/kill.h)
//   YARN's   its ResourceManager preempts it (yarn_reclaim.h), if the operator answers; then what is left of it,
//            or else all of it, as for a copilot
//   copilot  POST /tidemark/v1/stop of the task's copilot: SIGTERM            its whole group
//            to all of it. A copilot without it (Koordinator's) gets
//            /v1/killContainer
//   host     SIGTERM to each process of its group                             its whole group
//
// A copilot gets kCopilotKillsLater more than the agent: its own kill is for tasks without a group, and for the case
// that the agent is gone. So normally the agent kills and reports it.
//
// A task fixed to the node (a static pod) is neither asked nor killed: the kubelet would create it again.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "agent/evict/hands.h"
#include "agent/evict/yarn_reclaim.h"
#include "base/log.h"
#include "base/result.h"
#include "copilot/client.h"
#include "kube/actions.h"
#include "kube/client.h"
#include "linux/cgroup/kill.h"
#include "model/audit_line.h"
#include "model/reason.h"
#include "model/task.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/evict/evict.h"

namespace tidemark::agent {

// An API server retries for ten seconds before it answers that a pod of that uid is gone.
inline constexpr base::Duration kEvictionLimit = std::chrono::seconds(15);
inline constexpr base::Duration kProbeLimit = std::chrono::seconds(2);
inline constexpr base::Duration kCopilotLimit = std::chrono::seconds(5);
inline constexpr base::Duration kCopilotKillsLater = std::chrono::seconds(5);
inline constexpr std::size_t kKillsWaitingMax = 64;

// Outlives the ending.
struct EndingOutside {
  kube::Reader& reader;
  kube::Writer& writer;
  std::string node;
  linux::GroupKiller& groups;  // called on the ending's own thread
  // Returns the copilot that lists the task now; null: none does.
  std::function<copilot::Client*(const model::Task&)> copilot;
  YarnReclaim* yarn_reclaim = nullptr;            // null: no access to ResourceManagers
  std::function<void(model::AuditLine)> audit{};  // of actions that do not go to the API server; may be empty
};

class Ending final : public EvictionHands {
 public:
  Ending(net::EventLoop& loop, EndingOutside outside, base::Log log, std::string actor);

  // Returns the outcome for the policy. `why` is in the audit. The task may go while it is asked.
  //
  //   kAccepted     done, or in progress
  //   kForbidden    cause DisruptionBudget, JobBudget or PoolBudget; or 500 without a reason although etcd works,
  //                 as for a pod with two budgets
  //   kNever        409, or the webhook refuses the pod itself: online, of another node, a mirror, another pod;
  //                 or a host application
  //   kGone         404 of an API server
  //   kPreempted    a container of YARN, preempted by its ResourceManager
  //   kReplaced     the ResourceManager preempted another one
  //   kBusy         429 without a budget; or a webhook that is overloaded, has too many evictions to check, or
  //                 could not read the pod now
  //   kUnreachable  all else: no answer in time, no permission, a webhook that is down or cannot read the pod
  net::Task<policy::evict::EvictOutcome> ask(const model::Task& task, model::Reason why, base::Duration grace,
                                             bool itself) override;

  // Kills its whole group, if it has one. Does not block the loop. kDenied: a task that must not be killed.
  net::Task<Result<linux::KillReport>> kill(const model::Task& task, model::Reason why) override;

 private:
  struct Told {
    policy::evict::EvictOutcome outcome = policy::evict::EvictOutcome::kUnreachable;
    std::string error;
  };
  // The needed fields of a task, which may be gone when the answer arrives.
  struct Of {
    std::string source, task, ns, name, path;
    model::Reason why;
    base::Duration grace{};
  };
  net::Task<policy::evict::EvictOutcome> answer(policy::evict::EvictOutcome outcome);
  net::Task<policy::evict::EvictOutcome> told(net::Task<Told> asking, Of of);
  net::Task<Told> evict(Of of);
  net::Task<bool> refuses_though_etcd_works(Of of, kube::EvictOptions options);
  net::Task<Told> end_container(const model::Task& task, Of of, bool itself);
  net::Task<Told> preempt(copilot::Client* copilot, Of of);
  net::Task<Told> stop_container(copilot::Client* copilot, Of of);
  net::Task<Told> kill_container(copilot::Client* copilot, Of of);
  net::Task<Result<linux::KillReport>> refuse(Error error);
  net::Task<Result<linux::KillReport>> kill_group(Of of);
  void note_who_stays(const std::string& path, bool stays);
  net::Task<Result<linux::KillReport>> on_worker(
      std::string path, Result<linux::KillReport> (linux::GroupKiller::*end)(const std::string&));
  void tell_audit(std::string_view verb, std::string_view kind, const Of& of, std::string name, std::string value,
                  const Error* error);

  net::EventLoop& loop_;
  EndingOutside outside_;
  base::Log log_;
  std::string actor_;
  std::set<std::string> stay_;  // groups that were killed and still had processes afterwards
  net::WorkerPool worker_;      // its own: a hanging disk must not keep a group alive. Last: it uses the members above
};

}  // namespace tidemark::agent
