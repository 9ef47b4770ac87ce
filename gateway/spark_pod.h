// The parts of a driver or executor pod that the gateway keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/route/ends.h"

namespace tidemark::gateway {

struct SparkPod {
  struct Meta {
    std::string ns;
    std::string name;
    std::string resource_version;
  } meta;
  std::string uid;
  std::string run;  // label tidemark.io/run
  std::int64_t attempt = 0;
  bool is_driver = false;
  std::string app_id;    // label spark-app-selector
  std::string executor;  // label spark-exec-id: the number of an executor
  bool has_finalizer = false;
  policy::route::DriverPod driver;

  std::size_t bytes() const;
};

Result<SparkPod> decode_spark_pod(std::string_view json);

}  // namespace tidemark::gateway
