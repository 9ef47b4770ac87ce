// The part of a kubelet's configuration (GET /configz) that matters to offline work.
//
//   {"kubeletconfig":{"cgroupDriver":"systemd","cpuManagerPolicy":"none","memoryManagerPolicy":"None",
//                     "failSwapOn":true,"evictionHard":{"memory.available":"100Mi","nodefs.available":"10%", …},
//                     "evictionSoft":{"memory.available":"15%"}, …}}
#pragma once

#include <string_view>

#include "base/result.h"
#include "policy/explain/doctor/node_findings.h"

namespace tidemark::policy::explain {

// A missing value means the default of the kubelet, which is no threshold. kInvalid names the member that cannot be
// read.
Result<evict::KubeletFound> parse_kubelet_configz(std::string_view text);

}  // namespace tidemark::policy::explain
