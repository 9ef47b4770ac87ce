// TLS 1.2 and 1.3 by OpenSSL, hidden behind standard types. Material is given as PEM text or as files; files are read
// again when they change (looked at when a connection is made, at most once a second), so a rotated certificate or CA
// needs no restart. Keys never appear in an error or a log line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::net {

// Text or file, not both; both empty: not given.
struct PemSource {
  std::string text;
  std::string file;
  bool given() const { return !text.empty() || !file.empty(); }
};

struct TlsClientConfig {
  PemSource ca;           // not given: the system's store
  PemSource certificate;  // with key: mutual TLS
  PemSource key;
  std::string server_name;         // for SNI and verification; empty: the URL's host
  bool skip_verification = false;  // kubeconfig's insecure-skip-tls-verify; a warning is the caller's duty
};

struct TlsServerConfig {
  PemSource certificate;
  PemSource key;
  PemSource client_ca;  // given: client certificates are asked for and verified
  bool require_client_certificate = false;
  bool self_signed =
      false;  // in place of certificate and key: made at the first connection; for clients that verify none
};

// A certificate authority and certificates signed by it, for embedded servers and tests. ECDSA P-256.
struct CertificateAuthority {
  std::string certificate_pem;
  std::string key_pem;
};
struct IssuedCertificate {
  std::string certificate_pem;
  std::string key_pem;
};
struct CertificateRequest {
  std::string common_name;
  std::string organization;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  bool for_client = false;  // extended key usage: client; else server
  base::Duration lifetime = std::chrono::hours(24 * 365);
};
Result<CertificateAuthority> make_certificate_authority(std::string_view common_name, base::WallTime now,
                                                        base::Duration lifetime);
Result<IssuedCertificate> issue_certificate(const CertificateAuthority&, const CertificateRequest&, base::WallTime now);

// What the first certificate of a PEM text says of itself.
struct CertificateFacts {
  base::WallTime not_before;
  base::WallTime not_after;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;  // "127.0.0.1", "::1"
};
Result<CertificateFacts> read_certificate(std::string_view certificate_pem);
// That the certificate was signed by the authority, and that the key is the certificate's own.
Result<void> check_certificate(const IssuedCertificate& certificate, std::string_view authority_certificate_pem);

}  // namespace tidemark::net
