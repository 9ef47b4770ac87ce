// What becomes of a Job's pods: which are made and which deleted, whose ends count, and how the Job stands. As
// Kubernetes' own controller has it, where users see it:
//
//   wanted       `completions` that succeed, `parallelism` at a time; indexed: one for each index. Without completions
//                the first success ends the making of new ones
//   failures     more than `backoffLimit` fail the job, and so many restarts inside pods that begin their containers
//                again; what a failing job ends has failed too. The next pod waits 10 s after the first failure in a
//                row, twice as long after each further one, six minutes at most
//   rules        podFailurePolicy: an end may be ignored (an eviction), counted, or fail the job at once
//   taken back   what suspension, a lower parallelism or the job's success leaves no place for: it loses its finalizer
//                before it is deleted, so its end counts nothing. A pod of ours without one is on its way out
//   deadline     activeDeadlineSeconds since it began; `suspend` ends what runs and begins the time anew
//   ttl          so long after its end it is deleted
//
// Total, and without memory: the status and the pods are all that is known, and how long ago they came about. The wall
// clock is for time stamps alone: whoever sets it ends no job by that, and keeps none from going on.
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

namespace tidemark::policy {

inline constexpr base::Duration kJobPause = std::chrono::seconds(10);
inline constexpr base::Duration kJobPauseMax = std::chrono::minutes(6);
inline constexpr std::int64_t kJobPodsARound = 100;

struct JobRule {
  enum class Action : std::uint8_t { kIgnore, kCount, kFailJob };
  Action action = Action::kCount;
  std::string container;  // of the exit codes; "": any
  bool codes_in = true;
  std::vector<std::int64_t> codes;
  std::vector<std::string> conditions;  // types, each of which is enough where it is true
};

struct JobSpec {
  std::optional<std::int64_t> completions;
  std::int64_t parallelism = 1;
  std::int64_t backoff_limit = 6;
  std::optional<base::Duration> deadline, ttl;
  bool suspend = false;
  bool indexed = false;
  std::vector<JobRule> rules;
  bool replaces_when_ended = false;  // a pod that ends counts as active until it has ended
  bool restarts_inside = false;      // restartPolicy OnFailure
  bool deleted = false;              // its pods are whose who deleted it: none is made, none taken back
};

struct JobPod {
  std::string name, uid;
  model::PodPhase phase = model::PodPhase::kPending;
  bool deleted = false;
  bool ready = false;
  bool bound = true;          // to a node, which tells how it ends
  bool kept = true;           // our finalizer is on it
  std::int64_t restarts = 0;  // of its containers
  std::optional<std::int64_t> index;
  std::optional<base::Duration> ended_ago;  // at least 0
  struct Exit {
    std::string container;
    std::int64_t code = 0;
  };
  std::vector<Exit> exits;
  std::vector<std::string> conditions;  // types of those that are true

  bool over() const { return phase == model::PodPhase::kSucceeded || phase == model::PodPhase::kFailed; }
};

enum class JobEnd : std::uint8_t { kNone, kComplete, kBackoff, kDeadline, kPolicy };

// What the status says, and is to say.
struct JobState {
  std::optional<base::WallTime> started, ended;
  std::int64_t active = 0, ready = 0, terminating = 0, succeeded = 0, failed = 0;
  std::vector<std::string> uncounted_succeeded, uncounted_failed;  // uids, sorted
  std::vector<std::int64_t> completed;                             // indexes, sorted
  bool suspended = false;
  JobEnd decided = JobEnd::kNone;  // how it ends, as soon as that is known
  bool over = false;               // and nothing of it runs any more
  bool operator==(const JobState&) const = default;
};

struct JobStep {
  JobState state;
  std::vector<std::optional<std::int64_t>> create;  // pods to make, each with its index where it has one
  std::vector<std::size_t> remove;                  // pods to delete, by place
  std::vector<std::size_t> let_go;                  // to release, as long as they are what was seen, and then delete
  std::vector<std::size_t> release;                 // whose finalizer is to go, once the state is written
  bool remove_job = false;
  std::optional<base::Duration> again_after;  // time alone changes something
};

struct JobTimes {
  base::WallTime now;
  base::Duration since_started{0}, since_ended{0};  // of the state before; at least 0, and 0 where it has no such time
};

// `making`: pods that were asked for and are not among `pods` yet.
JobStep job_life(const JobSpec& spec, const JobState& before, std::span<const JobPod> pods, std::int64_t making,
                 const JobTimes& times);

// "0,2-4,7", as a status has it.
std::string index_text(std::span<const std::int64_t> sorted);
std::vector<std::int64_t> parse_indexes(std::string_view text);

}  // namespace tidemark::policy
