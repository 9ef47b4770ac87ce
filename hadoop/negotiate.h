// HTTP to a door that wants Kerberos (SPNEGO, RFC 4559), as Hadoop's web doors do where hadoop.http.authentication.type
// is kerberos: a request that is answered 401 is asked again with a token of ours, the door proves who it is by its
// answer, and the cookie that it gives stands for both until it is refused.
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

  // kDenied: it let nobody in, or is not who it should be. A token may take a KDC's time beyond `limit`.
  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override;
  // Without Kerberos: nobody streams from such a door.
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
