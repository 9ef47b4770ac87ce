#include "net/tls_error.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <time.h>

#include <arpa/inet.h>

#include "base/text.h"
#include "net/channel.h"

namespace tidemark::net {
namespace {

constexpr int kNamesShown = 8;

std::string name_text(const X509_NAME* name) {
  char line[256];
  if (name == nullptr || X509_NAME_oneline(name, line, sizeof line) == nullptr) return "unnamed";
  return base::in_quotes(line, sizeof line);
}

std::string time_text(const ASN1_TIME* time) {
  tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable time";
  return base::format_rfc3339({std::chrono::seconds(timegm(&parts))});
}

// The names a certificate is for, as far as a person wants to read them.
std::string names_text(X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string text;
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names);
  for (int i = 0; i < count && i < kNamesShown; ++i) {
    int type = 0;
    const auto* value =
        static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type));
    if (type != GEN_DNS && type != GEN_IPADD) continue;
    const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(value));
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
    if (!text.empty()) text += ", ";
    if (type == GEN_DNS) {
      text += base::in_quotes({bytes, size});
    } else {
      char address[INET6_ADDRSTRLEN] = "";
      if (size == 4 || size == 16) inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, address, sizeof address);
      text += address;
    }
  }
  if (count > kNamesShown) text += ", …";
  GENERAL_NAMES_free(names);
  ERR_clear_error();
  return text.empty() ? name_text(X509_get_subject_name(certificate)) : text;
}

std::string_view owner(const TlsView& view) {
  return view.client ? "certificate of " : "client certificate of ";
}

struct Said {
  ErrorKind kind;
  std::string text;
};

// `reason` is SSL_R_…; alerts of the peer have the alert's number plus SSL_AD_REASON_OFFSET.
Said say(int reason, const char* reason_text, const TlsView& view) {
  const std::string_view peer = view.peer;
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return {ErrorKind::kDenied, view.refusal.empty() ? base::cat(owner(view), peer, " is refused") : view.refusal};
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return {ErrorKind::kDenied, base::cat(peer, " expects a client certificate")};
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return {ErrorKind::kDenied, base::cat(peer, " sent no client certificate")};
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return {ErrorKind::kDenied, base::cat(peer, " does not accept our certificate (", reason_text, ")")};
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      if (view.asked) return {ErrorKind::kDenied, base::cat(peer, " expects a client certificate")};
      return {ErrorKind::kUnavailable, base::cat(peer, " refused the TLS handshake: no cipher in common")};
    case SSL_R_NO_SHARED_CIPHER:
      return {ErrorKind::kUnavailable, base::cat(peer, " and we have no cipher in common")};
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
      return {ErrorKind::kInvalid,
              base::cat(peer, " does not speak TLS", view.client ? "; is this its https port?" : "")};
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return {ErrorKind::kUnavailable,
              base::cat(peer, " and we have no TLS version in common; at least 1.2 is needed")};
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      return {ErrorKind::kUnavailable, base::cat(peer, " speaks neither h2 nor http/1.1")};
    default:
      return {ErrorKind::kInvalid, base::cat("TLS with ", peer, " failed: ", reason_text)};
  }
}

}  // namespace

std::string describe_refusal(int code, X509* certificate, const TlsView& view, base::WallTime now) {
  const std::string head = base::cat(owner(view), view.peer);
  const char* why = X509_verify_cert_error_string(code);
  if (certificate == nullptr) return base::cat(head, " is refused: ", why);
  switch (code) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return base::cat(head, " expired at ", time_text(X509_get0_notAfter(certificate)), "; it is ",
                       base::format_rfc3339(now), " here");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return base::cat(head, " is valid only from ", time_text(X509_get0_notBefore(certificate)), "; it is ",
                       base::format_rfc3339(now), " here");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return base::cat(head, " is for ", names_text(certificate), ", not for ", base::in_quotes(view.host));
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return base::cat(head, " is not signed by ", view.own_ca ? "the given CA" : "a CA that this system trusts",
                       " (signed by ", name_text(X509_get_issuer_name(certificate)), ": ", why, ")");
    default:
      return base::cat(head, " is refused: ", why);
  }
}

Error take_tls_error(const TlsView& view, int errno_value, bool ended) {
  const unsigned long code = ERR_peek_error();
  const int reason = ERR_GET_REASON(code);
  const char* text = ERR_reason_error_string(code);
  const bool of_ssl = code != 0 && ERR_GET_LIB(code) == ERR_LIB_SSL;
  Error error;
  if (of_ssl && reason != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    auto said = say(reason, text != nullptr ? text : "unknown reason", view);
    error = Error{said.kind, std::move(said.text), 0, 0};
  } else if (errno_value != 0) {
    error = socket_error(errno_value, view.peer);
  } else if (ended || of_ssl) {
    error = Error{ErrorKind::kUnavailable,
                  base::cat(view.peer, view.shaken ? " cut the connection without closing it properly"
                                                   : " closed the connection during the TLS handshake"),
                  0, 0};
  } else {
    error = Error{ErrorKind::kInternal,
                  base::cat("TLS with ", view.peer, " failed: ", text != nullptr ? text : "no reason"), 0, 0};
  }
  ERR_clear_error();
  return error;
}

}  // namespace tidemark::net
