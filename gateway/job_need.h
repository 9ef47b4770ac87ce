// What driver and executors of a job request at Kubernetes when it begins, as Spark computes it. A job that allocates
// executors as it needs them begins with its initial ones.
#pragma once

#include "gateway/job.h"
#include "policy/route/signals.h"

namespace tidemark::gateway {

policy::route::RunNeed need_of(const SparkJob& job);

}  // namespace tidemark::gateway
