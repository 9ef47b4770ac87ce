// Jobs and their pods between objects and policy/single_node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "policy/single_node/job_life.h"

namespace tidemark::runtime {

inline constexpr std::string_view kJobFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr std::string_view kJobNameLabel = "job-name";
inline constexpr std::string_view kJobIndexAnnotation = "batch.kubernetes.io/job-completion-index";

struct JobObject {
  std::string uid, ns, name, resource_version;
  bool ours = true;  // false: another controller manages it
  policy::single_node::JobSpec spec;
  policy::single_node::JobState state;
  std::string pod_template;                    // as JSON
  std::int64_t queued_again = 0;               // model/queued_again.h
  std::vector<std::string> queued_again_pods;  // sorted
  struct Condition {
    bool is = false;
    std::string since;
  };
  std::map<std::string, Condition, std::less<>> conditions;
  std::string refused;  // what of it is not done here: then nothing is

  std::size_t bytes() const;
};
Result<JobObject> read_job(std::string_view object);

struct JobPodObject {
  std::string ns, resource_version;
  std::string job_uid;  // its controller; "": none of a Job
  policy::single_node::JobPod pod;
  std::optional<base::WallTime> ended;  // end time in its status, if the pod is over

  std::size_t bytes() const;
};
Result<JobPodObject> read_job_pod(std::string_view object);

// The pod to make: `name` is its own.
std::string pod_of_job(const JobObject& job, std::string_view name, std::optional<std::int64_t> index);

// A strategic patch of the status, which holds only for the version of the job that was read. Conditions that are not
// ours stay.
std::string job_status(const JobObject& job, const policy::single_node::JobState& state, base::WallTime now);
// The same for one that cannot be done here: it has failed.
std::string refused_status(const JobObject& job, base::WallTime now);
// A merge patch, for that version too: these pods were queued again. A pod that is already counted is not counted
// twice.
std::string queued_again_note(const JobObject& job, const std::vector<std::string>& pods);

}  // namespace tidemark::runtime
