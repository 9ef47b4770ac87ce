// Who speaks Kerberos for a command: the program tidemark-kerberos, started beside it.
#pragma once

#include "base/log.h"
#include "hadoop/kerberos.h"
#include "hadoop/resource_manager.h"

namespace tidemark::main {

// Does nothing to a cluster without Kerberos. The program is started when a ResourceManager is first asked, one for
// each cluster: where one cluster's KDC does not answer, the others' tickets are made all the same.
void speak_kerberos(hadoop::RmCluster& cluster, const hadoop::KerberosOptions& options, const base::Log& log,
                    base::Registry* metrics = nullptr);

}  // namespace tidemark::main
