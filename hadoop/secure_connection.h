// A connection to a server with Kerberos: SASL first (hadoop/sasl.h), then bytes as they are or protected, as both
// sides agreed. What comes out of it and goes into it is the same as on one without.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "hadoop/gss.h"
#include "hadoop/sasl.h"
#include "net/connection.h"
#include "net/loop.h"

namespace tidemark::hadoop {

// What the configuration files say of it.
struct Security {
  SaslServer server;  // the principal may have _HOST in it
  std::vector<Protection> protections = {Protection::kAuthentication};
  bool operator==(const Security&) const = default;
};

// Sends the preamble and the SASL messages, up to the connection context. `gss` must outlive the connection.
net::Task<Result<std::unique_ptr<net::Connection>>> secure(net::EventLoop& loop,
                                                           std::unique_ptr<net::Connection> connection, Gss& gss,
                                                           Security security, base::Duration limit);

}  // namespace tidemark::hadoop
