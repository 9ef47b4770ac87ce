#include "hadoop/kerberos.h"

namespace tidemark::hadoop {

void declare_kerberos_flags(base::Flags& flags, KerberosOptions& options) {
  flags
      .text("kerberos-keytab", options.keytab,
            "keys of the caller, if hadoop.security.authentication is kerberos; empty: the ticket cache "
            "($KRB5CCNAME) that kinit fills")
      .placeholder("FILE");
  flags
      .text("kerberos-principal", options.principal,
            "the caller, as in tidemark@EXAMPLE.COM or tidemark/_HOST@EXAMPLE.COM; empty: the only one in the keytab")
      .placeholder("PRINCIPAL");
}

}  // namespace tidemark::hadoop
