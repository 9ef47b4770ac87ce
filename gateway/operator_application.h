// A SparkApplication object of Spark Operator (sparkoperator.k8s.io/v1beta2), as the gateway creates and reads it.
//
// The operator makes the driver pod by its own spark-submit. A pod template carries what no property says: the
// finalizer, the priority class, and a variable from the run's ConfigMap. So the driver starts only with that
// ConfigMap, as a driver of the native way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "gateway/driver_objects.h"
#include "gateway/job.h"
#include "gateway/run_object.h"
#include "kube/resource.h"

namespace tidemark::gateway {

inline constexpr std::string_view kOperatorApi = "sparkoperator.k8s.io/v1beta2";
inline constexpr kube::Resource kSparkApplications{"sparkoperator.k8s.io", "v1beta2", "sparkapplications",
                                                   "SparkApplication", true};

// Its driver pod is NAME-driver, as the operator names it.
std::string application_name(const DriverNames& names);
// Restarts never: the gateway owns the attempts.
Json application_object(const SparkJob& job, const DriverNames& names, const KubernetesOptions& options);
// The ConfigMap without which the driver does not start.
Json start_object(const DriverNames& names);

// The parts of it that the gateway keeps.
struct SparkApplicationState : RunObject {
  std::string state;
  std::string message;  // the operator's error

  std::size_t bytes() const;
};
Result<SparkApplicationState> decode_application(std::string_view json);

}  // namespace tidemark::gateway
