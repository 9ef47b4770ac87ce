// `koordinator.sh/cpuQOS` of a pod (contract 1.4): {"enable":true,"groupIdentity":1}
#pragma once

#include <string_view>

#include "base/result.h"
#include "policy/protect/intent.h"

namespace tidemark::policy::protect {

// Plain if it is not enabled, or has no groupIdentity. A groupIdentity outside -1 … 2 is rejected, enabled or not.
Result<CpuPriority> parse_pod_cpu_qos(std::string_view annotation);

}  // namespace tidemark::policy::protect
