// The authority and the serving certificate of the webhooks, in one of two ways:
//
//   made here   kept in a Secret that all replicas follow; the leader makes and renews it (policy/admission): the old
//               authority stays trusted until the new certificate is in use everywhere
//   given       files tls.crt and tls.key of a folder, and ca.crt where it is there; read again when they change
//
// The Secret has the keys of Koordinator's (ca-cert.pem, ca-key.pem, cert.pem, key.pem, tls.crt, tls.key), so that
// either manager goes on with what the other left; what only we need stands beside them under tidemark-… .
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "manager/shared.h"
#include "manager/webhook/webhook_objects.h"
#include "net/loop.h"
#include "net/tls.h"
#include "policy/admission/rotation.h"

namespace tidemark::manager {

struct CertificateOptions {
  std::string secret_namespace;
  std::string secret_name;
  std::string folder;  // given: the files there, and no Secret
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  base::Duration authority_lifetime = std::chrono::hours(24 * 3650);
  base::Duration serving_lifetime = std::chrono::hours(24 * 365);
};

// What is stored, and how it is written: apart from the class, for tests.
struct StoredCertificates {
  net::CertificateAuthority authority;
  net::IssuedCertificate serving;
  net::CertificateAuthority next;  // empty where there is none
  std::optional<base::WallTime> next_since;
  std::string old_authority_pem;  // empty where there is none
  std::optional<base::WallTime> old_since;

  // The authorities to trust, as PEM, the present one first.
  std::string bundle() const;
};
StoredCertificates read_certificates(const SecretObject& secret);
// The Secret's `data` and the annotations that go along, complete: what is not there is null, for a merge patch.
Json secret_of(const StoredCertificates& certificates);
policy::admission::RotationFacts rotation_facts(const StoredCertificates& certificates,
                                                const CertificateOptions& options,
                                                const std::function<bool(std::string_view pem)>& trusted);
Result<StoredCertificates> rotate(StoredCertificates certificates, policy::admission::RotationStep step,
                                  const CertificateOptions& options, base::WallTime now);

// Steps of the rotation without one moment in between at which there was nothing to do. A few of them belong together;
// more mean that what was made does not serve, and each takes a longer rest.
class StepsInARow {
 public:
  base::Duration rest_after_another();
  void settled() { *this = {}; }

 private:
  int steps_ = 0;
  base::Duration rest_{0};
};

class WebhookCertificates {
 public:
  struct Context {
    std::function<bool()> leading;
    // Whether the API server has been told to trust this authority, everywhere.
    std::function<bool(std::string_view pem)> trusted;
    // The serving certificate is another one.
    std::function<void(const net::IssuedCertificate&)> use;
    // The bundle is another one.
    std::function<void()> on_bundle;
  };

  WebhookCertificates(const Shared& shared, base::Random random, CertificateOptions options, Context context);

  // With files: that they can be used now. What the server is to listen with; throw-away material where the Secret has
  // not been read yet.
  Result<net::TlsServerConfig> first();
  void start();  // until destroyed

  bool ready() const { return have_serving_; }
  // The authorities to trust, as PEM; nullopt if unset (a directory without ca.crt): then the present bundle stays.
  std::optional<std::string> bundle() const;
  void look() { changed_.set(); }  // leadership or trust may have changed

 private:
  net::Task<void> keep_secret();
  net::Task<void> follow_files();
  net::Task<Result<void>> store(const StoredCertificates& certificates, std::string resource_version);
  void take(const SecretObject* secret);
  bool from_files() const { return !options_.folder.empty(); }
  std::string file(std::string_view name) const;

  net::EventLoop& loop_;
  kube::Writer& writer_;
  base::Log log_;
  CertificateOptions options_;
  Context context_;
  std::unique_ptr<kube::Informer<SecretObject>> secrets_;  // null with files
  StoredCertificates certificates_;
  std::optional<std::string> file_bundle_;
  bool have_serving_ = false;
  base::Gauge& expires_;
  base::Counter& steps_failed_;
  net::Event changed_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
