// Online services as JSON.
#pragma once

#include <string>
#include <string_view>

#include "operate/online.h"

namespace tidemark::console {

// All workloads without their pods, or, with the name of one, that with its pods.
std::string online_document(const operate::OnlineServices& services, std::string_view workload);

}  // namespace tidemark::console
