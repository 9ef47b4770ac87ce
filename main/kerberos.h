// Kerberos for a command: starts the helper program tidemark-kerberos.
#pragma once

#include "base/log.h"
#include "hadoop/kerberos.h"
#include "hadoop/resource_manager.h"

namespace tidemark::main {

// Does nothing for a cluster without Kerberos. The first request to a ResourceManager starts the program, one per
// cluster: a KDC that does not answer delays only its own cluster.
void speak_kerberos(hadoop::RmCluster& cluster, const hadoop::KerberosOptions& options, const base::Log& log,
                    base::Registry* metrics = nullptr);

}  // namespace tidemark::main
