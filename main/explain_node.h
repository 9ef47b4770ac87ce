// What `tidemark explain node` prints, for the console.
#pragma once

#include "console/api.h"
#include "console/view.h"
#include "net/loop.h"

namespace tidemark::main {

// With the location of the settings as in `view`. The loop outlives it.
console::ExplainNode explain_node_of(net::EventLoop& loop, const console::ViewOptions& view);

}  // namespace tidemark::main
