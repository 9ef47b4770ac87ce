// Runs credential plugins as processes. Agents run none: main/ does not hand this to them.
#pragma once

#include "kube/credential_plugin.h"
#include "net/loop.h"

namespace tidemark::kube {

// `loop` outlives the host. A run that is cancelled or too long is killed, with the programs that it started unless the
// user may be typing into them.
PluginHost system_plugin_host(net::EventLoop& loop);

}  // namespace tidemark::kube
