// The caller's identity, for servers that require Kerberos.
#pragma once

#include <string>

#include "base/flags.h"

namespace tidemark::hadoop {

struct KerberosOptions {
  std::string keytab;     // file; "": the ticket cache of the user that started us
  std::string principal;  // "": the keytab's only one, or the cache's; _HOST is this machine
};
void declare_kerberos_flags(base::Flags& flags, KerberosOptions& options);

}  // namespace tidemark::hadoop
