// `koordinator.sh/cpuQOS` of a pod (contract 1.4): {"enable":true,"groupIdentity":1}
#pragma once

#include <string_view>

#include "base/result.h"
#include "policy/knobs/intent.h"

namespace tidemark::policy {

// Plain where it is not enabled, or names none. A groupIdentity outside -1 … 2 is refused, enabled or not.
Result<CpuPriority> parse_pod_cpu_qos(std::string_view annotation);

}  // namespace tidemark::policy
