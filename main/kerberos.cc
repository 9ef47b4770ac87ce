#include "main/kerberos.h"

#include <memory>

#ifdef TIDEMARK_KERBEROS
#include "kerberos/acceptor.h"
#include "kerberos/gss.h"
#endif

namespace tidemark::main {

Result<void> speak_kerberos(hadoop::RmCluster& cluster, const hadoop::KerberosOptions& options, const base::Log& log,
                            base::Registry* metrics) {
  if (!cluster.security) return {};
#ifdef TIDEMARK_KERBEROS
  cluster.make_gss = [options, log, metrics](net::EventLoop& loop) -> std::shared_ptr<hadoop::Gss> {
    return std::make_shared<kerberos::MitGss>(loop, log, options, kerberos::MitGss::Config{.metrics = metrics});
  };
  return {};
#else
  (void)options, (void)log, (void)metrics;
  return fail(
      ErrorKind::kInvalid,
      "hadoop.security.authentication is kerberos, and this tidemark-hadoop was built without Kerberos; use one "
      "that was built on a machine of this architecture");
#endif
}

Result<std::shared_ptr<hadoop::GssAcceptor>> make_acceptor(net::EventLoop& loop, const std::string& keytab) {
#ifdef TIDEMARK_KERBEROS
  return std::make_shared<kerberos::MitAcceptor>(loop, keytab);
#else
  (void)loop, (void)keytab;
  return fail(ErrorKind::kInvalid, "--spnego-keytab: this tidemark-hadoop was built without Kerberos");
#endif
}

}  // namespace tidemark::main
