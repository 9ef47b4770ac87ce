#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "net/channel.h"
#include "net/tls_context.h"
#include "net/tls_error.h"

namespace tidemark::net {
namespace {

constexpr std::size_t kRecordMax = 16 * 1024;  // plain text of one TLS record

template <auto Function>
struct FreeBy {
  template <class T>
  void operator()(T* object) const {
    Function(object);
  }
};

struct Socket {
  Fd fd;
  int error = 0;  // the last errno that was not "try again"
  bool ended = false;
};

// OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE, and loses errno on the way up.
int socket_write(BIO* bio, const char* bytes, int size) {
  auto& socket = *static_cast<Socket*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t count = 0;
  do {
    count = send(socket.fd.get(), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count >= 0) return static_cast<int>(count);
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    BIO_set_retry_write(bio);
  } else {
    socket.error = errno;
  }
  return -1;
}

int socket_read(BIO* bio, char* space, int size) {
  auto& socket = *static_cast<Socket*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t count = 0;
  do {
    count = recv(socket.fd.get(), space, static_cast<std::size_t>(size), 0);
  } while (count < 0 && errno == EINTR);
  if (count > 0) return static_cast<int>(count);
  if (count == 0) {
    socket.ended = true;
    return 0;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    BIO_set_retry_read(bio);
  } else {
    socket.error = errno;
  }
  return -1;
}

long socket_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return static_cast<Socket*>(BIO_get_data(bio))->ended ? 1 : 0;
  return 0;
}

const BIO_METHOD* socket_method() {
  static const std::unique_ptr<BIO_METHOD, FreeBy<BIO_meth_free>> method = [] {
    std::unique_ptr<BIO_METHOD, FreeBy<BIO_meth_free>> made(
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tidemark socket"));
    BIO_meth_set_write(made.get(), socket_write);
    BIO_meth_set_read(made.get(), socket_read);
    BIO_meth_set_ctrl(made.get(), socket_control);
    return made;
  }();
  return method.get();
}

class TlsChannel final : public Channel {
 public:
  TlsChannel(Fd fd, TlsView view, const base::Clock& clock) : view_(std::move(view)), clock_(clock) {
    socket_.fd = std::move(fd);
  }

  Result<void> begin(SSL_CTX* context) {
    ERR_clear_error();
    ssl_.reset(SSL_new(context));
    BIO* bio = BIO_new(socket_method());
    if (!ssl_ || bio == nullptr) {
      BIO_free(bio);
      return std::unexpected(take_tls_error(view_, 0, false));
    }
    BIO_set_data(bio, &socket_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_verify(ssl_.get(), SSL_get_verify_mode(ssl_.get()), verified);
    // Validity is judged by the clock we were given.
    X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl_.get()),
                               std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().since_epoch).count());
    if (view_.client) {
      SSL_set_connect_state(ssl_.get());
    } else {
      SSL_set_accept_state(ssl_.get());
    }
    return {};
  }

  // The name the server must prove; an IP address is looked for among the addresses of its certificate.
  Result<void> expect(const std::string& host) {
    X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl_.get());
    in6_addr ignored;
    bool set = false;
    if (inet_pton(AF_INET, host.c_str(), &ignored) == 1 || inet_pton(AF_INET6, host.c_str(), &ignored) == 1) {
      set = X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str()) == 1;
    } else {
      // A common name is no proof (RFC 9525), even where the certificate has no names; Go refuses it too.
      X509_VERIFY_PARAM_set_hostflags(parameters,
                                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
      set = !host.empty() && SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1 &&
            X509_VERIFY_PARAM_set1_host(parameters, host.data(), host.size()) == 1;
    }
    ERR_clear_error();
    if (!set) return fail(ErrorKind::kInvalid, base::in_quotes(host), " cannot be a server's name");
    if (SSL_CTX* context = SSL_get_SSL_CTX(ssl_.get()); SSL_CTX_get0_certificate(context) == nullptr) {
      SSL_set_cert_cb(ssl_.get(), asked_for_certificate, this);
    }
    return {};
  }

  int fd() const override { return socket_.fd.get(); }

  Transfer handshake() override {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) {
      view_.shaken = true;
      view_.refusal.clear();
      return {};
    }
    return not_done(result);
  }

  Transfer read(std::span<char> space) override {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(ssl_.get(), space.data(), space.size(), &count);
    if (result == 1) return {Transfer::State::kDone, count, true, {}};
    return not_done(result);
  }

  Transfer write(std::span<const std::string_view> pieces) override {
    ERR_clear_error();
    const std::string_view bytes = pieces.front().substr(0, kRecordMax);
    std::size_t count = 0;
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    if (result == 1) return {Transfer::State::kDone, count, false, {}};
    return not_done(result);
  }

  Transfer finish() override {
    ERR_clear_error();
    const int result = SSL_shutdown(ssl_.get());
    return result >= 0 ? Transfer{} : not_done(result);
  }

  std::string_view alpn() const override {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }

  void describe(Peer& peer) const override {
    if (view_.client || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return;
    X509* certificate = SSL_get0_peer_certificate(ssl_.get());
    if (certificate == nullptr) return;
    const X509_NAME* subject = X509_get_subject_name(certificate);
    auto common_names = entries(subject, NID_commonName);
    if (!common_names.empty()) peer.certificate_common_name = std::move(common_names.back());  // the most specific one
    peer.certificate_organizations = entries(subject, NID_organizationName);
  }

 private:
  // A name with a NUL in it is meant to be read differently by different readers: it counts as absent.
  static std::vector<std::string> entries(const X509_NAME* name, int nid) {
    std::vector<std::string> texts;
    for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0; at = X509_NAME_get_index_by_NID(name, nid, at)) {
      unsigned char* utf8 = nullptr;
      const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
      if (size > 0) {
        std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
        if (text.find('\0') == std::string::npos) texts.push_back(std::move(text));
      }
      OPENSSL_free(utf8);
    }
    ERR_clear_error();
    return texts;
  }

  static int verified(int ok, X509_STORE_CTX* store) {
    const auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* self = static_cast<TlsChannel*>(SSL_get_app_data(ssl));
    if (ok != 1 && self->view_.refusal.empty()) {
      self->view_.refusal = describe_refusal(X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_current_cert(store),
                                             self->view_, self->clock_.wall());
    }
    return ok;
  }

  // Called where a certificate of ours could be sent: on a client only after the server's request for one.
  static int asked_for_certificate(SSL*, void* self) {
    static_cast<TlsChannel*>(self)->view_.asked = true;
    return 1;
  }

  Transfer not_done(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {Transfer::State::kWantRead, 0, false, {}};
      case SSL_ERROR_WANT_WRITE:
        return {Transfer::State::kWantWrite, 0, false, {}};
      case SSL_ERROR_ZERO_RETURN:
        return {Transfer::State::kEnd, 0, false, {}};
      default:
        return {Transfer::State::kFailed, 0, false, take_tls_error(view_, socket_.error, socket_.ended)};
    }
  }

  Socket socket_;
  TlsView view_;
  const base::Clock& clock_;
  std::unique_ptr<SSL, FreeBy<SSL_free>> ssl_;  // before the socket that its BIO points to
};

}  // namespace

Result<std::unique_ptr<Channel>> make_tls_client_channel(Fd fd, std::string peer, TlsClientContext& context,
                                                         std::string_view host) {
  const TlsClientConfig& config = context.config();
  TlsView view;
  view.client = true;
  view.peer = std::move(peer);
  view.host = config.server_name.empty() ? std::string(host) : config.server_name;
  view.own_ca = config.ca.given();
  const std::string name = view.host;
  const auto openssl = context.context().current();
  auto channel = std::make_unique<TlsChannel>(std::move(fd), std::move(view), context.context().clock());
  TM_TRY_VOID(channel->begin(openssl.get()));
  TM_TRY_VOID(channel->expect(name));
  return channel;
}

Result<std::unique_ptr<Channel>> make_tls_server_channel(Fd fd, std::string peer, TlsServerContext& context) {
  TlsView view;
  view.peer = std::move(peer);
  view.own_ca = true;
  const auto openssl = context.context().current();
  auto channel = std::make_unique<TlsChannel>(std::move(fd), std::move(view), context.context().clock());
  TM_TRY_VOID(channel->begin(openssl.get()));
  return channel;
}

}  // namespace tidemark::net
