// Manages the pods of a Job: which are created and deleted, whose ends count, and the Job's status. Follows Kubernetes'
// controller in everything that users see:
//
//   wanted       `completions` successes, `parallelism` at a time; indexed: one for each index. Without completions
//                no pod is created after the first success
//   failures     the job fails after more than `backoffLimit` failures, or that many restarts inside pods that restart
//                their containers; pods ended by a failing job have failed too. The next pod waits 10 s after the first
//                consecutive failure, twice as long after each further one, at most six minutes
//   rules        podFailurePolicy: an end may be ignored (an eviction), counted, or fail the job at once
//   withdrawn    pods that suspension, a lower parallelism or the job's success makes superfluous: the finalizer is
//                removed before the pod is deleted, so its end does not count. A pod of ours without one is being
//                deleted
//   deadline     activeDeadlineSeconds since the start; `suspend` ends running pods and restarts the time
//   ttl          it is deleted this long after its end
//
// Total, and without memory: the input is the status, the pods and their ages. The wall clock is only for time stamps:
// setting it neither ends nor blocks a job.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"

namespace tidemark::policy::single_node {

inline constexpr base::Duration kJobPause = std::chrono::seconds(10);
inline constexpr base::Duration kJobPauseMax = std::chrono::minutes(6);
inline constexpr std::int64_t kJobPodsARound = 100;

struct JobRule {
  enum class Action : std::uint8_t { kIgnore, kCount, kFailJob };
  Action action = Action::kCount;
  std::string container;  // of the exit codes; "": any
  bool codes_in = true;
  std::vector<std::int64_t> codes;
  std::vector<std::string> conditions;  // types, each of which is enough if it is true
};

struct JobSpec {
  std::optional<std::int64_t> completions;
  std::int64_t parallelism = 1;
  std::int64_t backoff_limit = 6;
  std::optional<base::Duration> deadline, ttl;
  bool suspend = false;
  bool indexed = false;
  std::vector<JobRule> rules;
  bool replaces_when_ended = false;  // an ending pod counts as active until it has ended
  bool restarts_inside = false;      // restartPolicy OnFailure
  bool deleted = false;              // the deleter owns its pods: none is created, none withdrawn
};

struct JobPod {
  std::string name, uid;
  model::PodPhase phase = model::PodPhase::kPending;
  bool deleted = false;
  bool ready = false;
  bool bound = true;          // to a node, which reports how it ends
  bool kept = true;           // it has our finalizer
  std::int64_t restarts = 0;  // of its containers
  std::optional<std::int64_t> index;
  std::optional<base::Duration> ended_ago;  // at least 0
  struct Exit {
    std::string container;
    std::int64_t code = 0;
  };
  std::vector<Exit> exits;
  std::vector<std::string> conditions;  // types of the true ones

  bool over() const { return phase == model::PodPhase::kSucceeded || phase == model::PodPhase::kFailed; }
};

enum class JobEnd : std::uint8_t { kNone, kComplete, kBackoff, kDeadline, kPolicy };

// The status, as read and as it is to be written.
struct JobState {
  std::optional<base::WallTime> started, ended;
  std::int64_t active = 0, ready = 0, terminating = 0, succeeded = 0, failed = 0;
  std::vector<std::string> uncounted_succeeded, uncounted_failed;  // uids, sorted
  std::vector<std::int64_t> completed;                             // indexes, sorted
  bool suspended = false;
  JobEnd decided = JobEnd::kNone;  // how it ends, as soon as that is known
  bool over = false;               // and none of its pods runs any more
  bool operator==(const JobState&) const = default;
};

struct JobStep {
  JobState state;
  std::vector<std::optional<std::int64_t>> create;  // pods to create, each with its index if it has one
  std::vector<std::size_t> remove;                  // pods to delete, by position
  std::vector<std::size_t> let_go;                  // pods to release if they are unchanged, and then delete
  std::vector<std::size_t> release;                 // pods whose finalizer is removed once the state is written
  bool remove_job = false;
  std::optional<base::Duration> again_after;  // time alone changes something
};

struct JobTimes {
  base::WallTime now;
  base::Duration since_started{0}, since_ended{0};  // of the previous state; at least 0, and 0 if it has no such time
};

// `making`: requested pods that are not among `pods` yet.
JobStep job_life(const JobSpec& spec, const JobState& before, std::span<const JobPod> pods, std::int64_t making,
                 const JobTimes& times);

// "0,2-4,7", as in a status.
std::string index_text(std::span<const std::int64_t> sorted);
std::vector<std::int64_t> parse_indexes(std::string_view text);

}  // namespace tidemark::policy::single_node
