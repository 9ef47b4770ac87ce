// The logs of pods that are gone. They go with their pod; but what an evicted attempt of a Job wrote is to be read as
// long as the Job is there.
//
//   DIR/NAMESPACE_NAME_UID/.job   the uid of its Job
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::runtime {

inline constexpr std::size_t kGonePodsKept = 10;  // of one Job: those that began last

Result<void> mark_logs_of_job(const std::string& folder, std::string_view job_uid);

struct LogOwners {
  std::function<bool(const std::string& uid)> pod_is_here, job_is_here;
};
// Removes what has no owner any more. The first folder that stays all the same is the error.
Result<void> sweep_logs(const std::string& dir, const LogOwners& owners);

}  // namespace tidemark::runtime
