// What a client needs to trust the embedded API server and be trusted by it, kept in the data folder:
//
//   ca.crt, ca.key   our own authority, made once           admin.token   the bearer token of the kubeconfig
//   kubeconfig       for kubectl and our own components, written anew at every start (the port may be another one)
//
// All but ca.crt are readable by their owner only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/tls.h"

namespace tidemark::embedded {

struct Credentials {
  net::CertificateAuthority authority;
  net::IssuedCertificate server;  // made at every start: it lives as long as the process
  std::string token;
};

// Makes what is missing and keeps what is there. A folder that others may write is refused. The server's certificate is
// good for loopback and for the address of `listen` (ADDRESS:PORT).
Result<Credentials> open_credentials(const std::string& data_dir, std::string_view listen, base::WallTime now);

// Answers the path written.
Result<std::string> write_kubeconfig(const std::string& data_dir, const Credentials& credentials,
                                     const std::string& server_address);

}  // namespace tidemark::embedded
