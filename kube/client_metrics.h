// What clients measure, for a program that shows it.
#pragma once

#include <string_view>

#include "base/metrics.h"

namespace tidemark::kube {

// From sending a request to its answer, or to the head of a stream; of all clients that count in `metrics`. `verb` is
// the HTTP method in lower case, or "watch".
base::Histogram& request_seconds(base::Registry& metrics, std::string_view verb);

}  // namespace tidemark::kube
