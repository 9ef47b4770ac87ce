// How one task is ended: asked first, by whoever runs it, and killed where it stays.
//
//            asked                                                            killed
//   pod      policy/v1 Eviction of that uid, with the pod's own grace period  its whole group (linux/cgroup/kill.h)
//   YARN's   its ResourceManager ends it as pre-empted (take_back.h), where its operator is heard; then what is left of
//            it, or else all of it, as a copilot's
//   copilot  POST /tidemark/v1/stop of the copilot that tells of it: SIGTERM  its whole group
//            to all of it. One that does not know that (the peer's) is told
//            /v1/killContainer
//   host     SIGTERM to each process of its group                             its whole group
//
// A copilot is given kCopilotKillsLater more than the agent has: its own kill is for a task without a group, and where
// the agent is gone by then. So it is the agent that kills and tells of it.
//
// What is fixed to the node (a static pod) is neither asked nor killed: its kubelet would make it again.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "agent/evict/hands.h"
#include "agent/evict/take_back.h"
#include "base/log.h"
#include "base/result.h"
#include "copilot/client.h"
#include "kube/client.h"
#include "linux/cgroup/kill.h"
#include "model/audit_line.h"
#include "model/reason.h"
#include "model/task.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/evict/evict.h"

namespace tidemark::agent {

// An API server tries by itself for ten seconds before it says that a pod of that uid is gone.
inline constexpr base::Duration kEvictionLimit = std::chrono::seconds(15);
inline constexpr base::Duration kCopilotLimit = std::chrono::seconds(5);
inline constexpr base::Duration kCopilotKillsLater = std::chrono::seconds(5);
inline constexpr std::size_t kKillsWaitingMax = 64;

// Outlives the ending.
struct EndingOutside {
  kube::Writer& writer;
  linux::GroupKiller& groups;  // called on the ending's own thread
  // The copilot that tells of that task now; null: none does.
  std::function<copilot::Client*(const model::Task&)> copilot;
  TakeBack* take_back = nullptr;                  // null: nobody speaks to ResourceManagers
  std::function<void(model::AuditLine)> audit{};  // of what is not written to the API server; may be empty
};

class Ending final : public EvictionHands {
 public:
  Ending(net::EventLoop& loop, EndingOutside outside, base::Log log, std::string actor);

  // What came of it, as the policy reads it. `why` is in the audit. The task may go while it is asked.
  //
  //   kAccepted     done, or going to be
  //   kForbidden    429: a disruption budget; two of them for one pod, which the server answers with 500
  //   kNever        409, and what the webhook says of the pod itself: online, of another node, a mirror, another one;
  //                 a host application
  //   kGone         404
  //   kPreempted    a container of YARN, by its ResourceManager
  //   kReplaced     another one by it
  //   kBusy         429 of no budget; a webhook that has too much to do, is asked about more evictions than it looks
  //                 at, or could not look the pod up now
  //   kUnreachable  all else: no answer in time, no right to ask, a webhook that is not there or cannot read the pod
  net::Task<policy::EvictOutcome> ask(const model::Task& task, model::Reason why, base::Duration grace,
                                      bool itself) override;

  // All of its group, where it has one. It never waits on the loop. kDenied: a task that nobody may end.
  net::Task<Result<linux::KillReport>> kill(const model::Task& task, model::Reason why) override;

 private:
  struct Told {
    policy::EvictOutcome outcome = policy::EvictOutcome::kUnreachable;
    std::string error;
  };
  // What is needed of a task, which may be gone by the time of the answer.
  struct Of {
    std::string source, task, ns, name, path;
    model::Reason why;
    base::Duration grace{};
  };
  net::Task<policy::EvictOutcome> answer(policy::EvictOutcome outcome);
  net::Task<policy::EvictOutcome> told(net::Task<Told> asking, Of of);
  net::Task<Told> evict(Of of);
  net::Task<Told> end_container(const model::Task& task, Of of, bool itself);
  net::Task<Told> take_back(copilot::Client* copilot, Of of);
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
  std::set<std::string> stay_;  // groups that were killed and had somebody in them after that
  net::WorkerPool worker_;      // its own: a disk that hangs must not keep a group alive. Last: it uses what is above
};

}  // namespace tidemark::agent
