// A certificate authority for tests of TLS.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "net/tls.h"

namespace tidemark::net::testing {

class TestAuthority {
 public:
  explicit TestAuthority(base::WallTime now, std::string_view name = "test authority")
      : now_(now), authority_(need(make_certificate_authority(name, now, std::chrono::hours(24 * 3650)))) {}

  const std::string& certificate_pem() const { return authority_.certificate_pem; }

  // For "localhost" and 127.0.0.1, unless the names are given.
  IssuedCertificate server(std::vector<std::string> dns_names = {"localhost"},
                           std::vector<std::string> ip_addresses = {"127.0.0.1"}) const {
    CertificateRequest request;
    request.common_name = "server";
    request.dns_names = std::move(dns_names);
    request.ip_addresses = std::move(ip_addresses);
    return issue(request);
  }
  IssuedCertificate client(std::string common_name, std::string organization = "") const {
    CertificateRequest request;
    request.common_name = std::move(common_name);
    request.organization = std::move(organization);
    request.for_client = true;
    return issue(request);
  }
  IssuedCertificate issue(const CertificateRequest& request) const {
    return need(issue_certificate(authority_, request, now_));
  }

  TlsServerConfig server_config() const {
    auto issued = server();
    TlsServerConfig config;
    config.certificate.text = issued.certificate_pem;
    config.key.text = issued.key_pem;
    return config;
  }
  TlsClientConfig client_config() const {
    TlsClientConfig config;
    config.ca.text = authority_.certificate_pem;
    return config;
  }

 private:
  template <class T>
  static T need(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().message);
    return std::move(*result);
  }
  base::WallTime now_;
  CertificateAuthority authority_;
};

}  // namespace tidemark::net::testing
