// Describes TLS errors for the person who must fix them. Internal to net/.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

struct x509_st;  // OpenSSL's X509

namespace tidemark::net {

struct TlsView {
  bool client = false;  // our side
  std::string peer;     // how messages call the other side
  std::string host;     // the name that was verified, of a client
  bool own_ca = false;  // a CA was given, not the system's store
  bool shaken = false;  // the handshake is done
  bool asked = false;   // the server asked for a client certificate, and we have none
  std::string refusal;  // what the verification said
};

// For the verification callback: `code` is X509_V_ERR_…, `certificate` the one refused (may be null).
std::string describe_refusal(int code, x509_st* certificate, const TlsView& view, base::WallTime now);

// Takes OpenSSL's error queue and empties it. `errno_value` is the socket's last error, 0 where it had none; `ended` is
// a peer that closed without close_notify.
Error take_tls_error(const TlsView& view, int errno_value, bool ended);

}  // namespace tidemark::net
