// Kerberos for a command.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "hadoop/gss.h"
#include "hadoop/kerberos.h"
#include "hadoop/resource_manager.h"

namespace tidemark::main {

// Does nothing for a cluster without Kerberos. Each cluster has its own login and worker: a KDC that does not answer
// delays only its own cluster.
Result<void> speak_kerberos(hadoop::RmCluster& cluster, const hadoop::KerberosOptions& options, const base::Log& log,
                            base::Registry* metrics = nullptr);

// Clients that log in by Kerberos at a server of ours.
Result<std::shared_ptr<hadoop::GssAcceptor>> make_acceptor(net::EventLoop& loop, const std::string& keytab);

}  // namespace tidemark::main
