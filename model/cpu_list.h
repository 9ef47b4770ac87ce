// CPU lists as in the kernel, annotations and settings: "0-3,8".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::model {

// Ascending, without duplicates. CPUs are below kCpuListMax (model/annotations.h), so that "0-4294967295" is rejected.
Result<std::vector<std::int32_t>> parse_cpus(std::string_view list);

}  // namespace tidemark::model
