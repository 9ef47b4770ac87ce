// Kerberos in this process, by MIT's library: the real implementation of hadoop/gss.h.
//
//   loop ─▶ wrap, unwrap, later steps      at once: they do not wait for a server
//     ├───▶ worker: logins, first steps    they wait for a KDC
//     └───▶ worker: names of addresses     they wait for DNS
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "hadoop/gss.h"
#include "hadoop/kerberos.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::kerberos {

class MitGss : public hadoop::Gss {
 public:
  struct Config {
    // Requests that wait for a KDC or DNS fail after this. The worker stays busy as long as the library waits.
    base::Duration answer_limit = std::chrono::seconds(20);
    base::Registry* metrics = nullptr;  // outlives it; nullptr: no metrics
  };
  // With a keytab it logs in at once, so that an invalid keytab is logged at the start, and renews its tickets.
  MitGss(net::EventLoop& loop, base::Log log, hadoop::KerberosOptions options, Config config);
  ~MitGss() override;  // does not wait for a KDC
  MitGss(const MitGss&) = delete;
  MitGss& operator=(const MitGss&) = delete;

  net::Task<Result<std::string>> own_principal(base::Duration limit) override;
  net::Task<Result<std::string>> canonical_name(std::string address) override;
  std::unique_ptr<hadoop::GssContext> context(std::string server_principal) override;

 private:
  class Connection;
  class Login;
  struct Checked;
  struct Begun;

  net::Task<Result<Begun>> begin(std::string server, std::string token);
  net::Task<Result<std::string>> log_in_for_principal();
  net::Task<void> renew();
  void on_checked(const Checked& checked);

  net::EventLoop& loop_;
  base::Log log_;
  const hadoop::KerberosOptions options_;
  const Config config_;
  std::shared_ptr<Login> login_;       // used by the worker only
  base::Gauge* ticket_end_ = nullptr;  // all three, or none
  base::Counter* logins_ = nullptr;
  base::Counter* failed_logins_ = nullptr;
  int failures_ = 0;  // logins, in a row
  net::Timer renewal_;
  net::WorkerPool kdc_, names_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::kerberos
