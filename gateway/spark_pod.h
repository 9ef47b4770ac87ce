// The parts of a driver or executor pod that the gateway keeps.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/run_object.h"
#include "policy/route/ends.h"

namespace tidemark::gateway {

struct SparkPod : RunObject {
  bool is_driver = false;
  std::string app_id;    // label spark-app-selector
  std::string executor;  // label spark-exec-id: the number of an executor
  policy::route::DriverPod driver;

  std::size_t bytes() const;
};

Result<SparkPod> decode_spark_pod(std::string_view json);

}  // namespace tidemark::gateway
