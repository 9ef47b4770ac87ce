// Pods and Jobs as the commands for one machine need them. All pods of this server are shown, whichever program created
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "model/pod.h"
#include "model/qos.h"
#include "model/resources.h"
#include "net/loop.h"
#include "policy/single_node/queue_types.h"

namespace tidemark::cli {

struct ContainerSeen {
  std::string name;
  std::int64_t restarts = 0;
  bool running = false;
  std::optional<std::int64_t> exit_code;       // of the run that has ended, the last one
  std::string ended_reason;                    // "Error", "OOMKilled"
  std::string waits_for, waits_message;        // "CrashLoopBackOff"
  std::optional<base::WallTime> began, ended;  // of the newest run
};

struct PodSeen {
  std::string ns, name, uid, node;
  std::string job, job_uid;  // the Job that it belongs to
  bool offline = false;
  model::PriorityClass priority_class = model::PriorityClass::kNone;
  policy::single_node::QueuePod queued;  // of one that waits: as its queue sees it
  model::Resources asked;                // of any class
  model::PodPhase phase = model::PodPhase::kUnknown;
  std::string reason, message;  // of a pod that failed as a whole
  std::optional<base::WallTime> created, deleted;
  bool disrupted = false;       // its condition DisruptionTarget: it was evicted
  std::string disrupted_why;    // its message
  std::string unscheduled_why;  // of its condition PodScheduled, where that is false
  std::vector<ContainerSeen> containers;

  bool over() const { return phase == model::PodPhase::kSucceeded || phase == model::PodPhase::kFailed; }
  bool waits() const { return !over() && !deleted && node.empty(); }
  std::int64_t restarts() const;
  std::optional<std::int64_t> exit_code() const;  // of the first container that failed, else of one that ended
};

struct JobSeen {
  std::string ns, name, uid;
  bool offline = false;
  model::PriorityClass priority_class = model::PriorityClass::kNone;
  model::Resources asked;  // of one pod
  std::int64_t retries = 0;
  std::int64_t failed = 0, succeeded = 0, active = 0;  // pods
  std::int64_t queued_again = 0;                       // model/queued_again.h
  bool suspended = false;
  bool complete = false, given_up = false;  // its conditions Complete and Failed
  std::string given_up_why;
  std::optional<base::WallTime> created, deleted, completed;

  bool ended() const { return complete || given_up; }
};

// kInvalid: no such object. What is missing in it is left as it is above.
Result<PodSeen> decode_pod_seen(std::string_view bytes);
Result<JobSeen> decode_job_seen(std::string_view bytes);

struct LocalObjects {
  std::vector<PodSeen> pods;
  std::vector<JobSeen> jobs;
  std::map<model::PodId, model::Resources> usage;  // by the node's agent
};

// Of all namespaces: a position in the queue counts all waiting pods.
net::Task<Result<LocalObjects>> read_local_objects(net::EventLoop& loop, kube::Client& client, base::Duration limit);

}  // namespace tidemark::cli
