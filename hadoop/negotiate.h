// HTTP to a server that requires Kerberos (SPNEGO, RFC 4559), such as Hadoop's web addresses if
// hadoop.http.authentication.type is kerberos. After a 401 the request is sent again with our token, the answer
// authenticates the server, and its cookie replaces both until it is rejected.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hadoop/gss.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace tidemark::hadoop {

class NegotiatingTransport final : public net::HttpTransport {
 public:
  // `transport` leads to the door and outlives this. `gss` is made when a door first asks. `server`: the principal that
  // the door has its key as, HTTP/HOST or HTTP/HOST@REALM.
  NegotiatingTransport(net::EventLoop& loop, net::HttpTransport& transport, MakeGss gss, std::string server);

  // kDenied: it rejects us, or is not the expected server. A token may wait for a KDC beyond `limit`.
  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override;
  // Without Kerberos: no caller streams from such a server.
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override;

 private:
  net::Task<Result<net::HttpResponse>> prove_and_fetch(net::HttpRequest request, base::Duration limit);

  net::EventLoop& loop_;
  net::HttpTransport& transport_;
  const MakeGss make_gss_;
  const std::string server_;
  std::shared_ptr<Gss> gss_;
  std::string cookie_;  // "": the door does not know us yet
};

}  // namespace tidemark::hadoop
