// Clients of an HTTP server that log in by Kerberos (SPNEGO): the real implementation of hadoop::GssAcceptor.
//
// The keytab is read for each client, on a worker, so a new keytab needs no restart. Its keys of HTTP/… are used; a
// ticket for another principal is refused. There is no replay cache, because the server accepts SPNEGO only over TLS
// and replicas would not share the cache.
#pragma once

#include <string>

#include "base/result.h"
#include "hadoop/gss.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::kerberos {

class MitAcceptor : public hadoop::GssAcceptor {
 public:
  MitAcceptor(net::EventLoop& loop, std::string keytab);
  net::Task<Result<Accepted>> accept(std::string token) override;

 private:
  net::EventLoop& loop_;
  const std::string keytab_;
  net::WorkerPool worker_;
};

}  // namespace tidemark::kerberos
