#include "net/tls_context.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "base/fd.h"
#include "net/connection.h"
#include "net/free_by.h"

namespace tidemark::net {
namespace {

constexpr std::size_t kPemBytesMax = 4 * 1024 * 1024;  // a system's bundle is a quarter of a megabyte
// Forward secrecy and authenticated encryption only; TLS 1.3 brings its own list.
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";
constexpr unsigned kProtocolsSize = sizeof kProtocols - 1;
// A static binary carries the build machine's default path; these are where distributions keep their bundle.
constexpr const char* kSystemBundles[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                          "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;

// Text that is wiped when it goes: it may hold a key.
struct Pem {
  Pem() = default;
  Pem(Pem&& other) noexcept : text(std::move(other.text)) {}
  Pem& operator=(Pem&&) = delete;
  ~Pem() { OPENSSL_cleanse(text.data(), text.size()); }
  std::string text;
};

Result<Pem> read_pem(const PemSource& source, std::string_view what) {
  Pem pem;
  if (source.file.empty()) {
    pem.text = source.text;
    return pem;
  }
  const Fd fd(open(source.file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!fd || fstat(fd.get(), &status) != 0)
    return base::fail_errno(errno, base::cat("reading ", what, " ", source.file));
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kInvalid, what, " ", source.file, " is not a file");
  if (static_cast<std::size_t>(status.st_size) > kPemBytesMax) {
    return fail(ErrorKind::kInvalid, what, " ", source.file, " is longer than ", kPemBytesMax, " bytes");
  }
  pem.text.resize(static_cast<std::size_t>(status.st_size));
  std::size_t filled = 0;
  while (filled < pem.text.size()) {
    const ssize_t count = read(fd.get(), pem.text.data() + filled, pem.text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail_errno(errno, base::cat("reading ", what, " ", source.file));
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  pem.text.resize(filled);
  return pem;
}

std::string place(const PemSource& source, std::string_view what) {
  return source.file.empty() ? base::cat(what, " given as text") : base::cat(what, " ", source.file);
}

std::unexpected<Error> refuse(const PemSource& source, std::string_view what, std::string_view why) {
  ERR_clear_error();
  return fail(ErrorKind::kInvalid, place(source, what), " ", why);
}

// The default callback asks on the terminal.
int no_password(char*, int, int, void*) {
  return 0;
}

Result<std::vector<Certificate>> read_certificates(const PemSource& source, std::string_view what) {
  TM_TRY(const Pem pem, read_pem(source, what));
  const Bio bio(BIO_new_mem_buf(pem.text.data(), static_cast<int>(pem.text.size())));
  std::vector<Certificate> certificates;
  ERR_clear_error();
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)) certificates.emplace_back(next);
  // The end of the text gives "no start line"; anything else is a broken block.
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
    return refuse(source, what, "holds a broken certificate");
  ERR_clear_error();
  if (certificates.empty()) return refuse(source, what, "holds no certificate (BEGIN CERTIFICATE)");
  return certificates;
}

Result<void> use_certificate(SSL_CTX* context, const PemSource& certificate, const PemSource& key) {
  TM_TRY(auto chain, read_certificates(certificate, "certificate"));
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return refuse(certificate, "certificate", "cannot be used: its key is of an unknown kind or too weak");
  }
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1) {
      return refuse(certificate, "certificate", "has a chain that cannot be used");
    }
  }
  TM_TRY(const Pem pem, read_pem(key, "key"));
  const Bio bio(BIO_new_mem_buf(pem.text.data(), static_cast<int>(pem.text.size())));
  const Key parsed(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!parsed) return refuse(key, "key", "holds no private key that can be read without a password");
  if (X509_check_private_key(chain.front().get(), parsed.get()) != 1) {
    return refuse(key, "key", base::cat("does not belong to the ", place(certificate, "certificate")));
  }
  if (SSL_CTX_use_PrivateKey(context, parsed.get()) != 1) return refuse(key, "key", "cannot be used");
  return {};
}

Result<void> trust(SSL_CTX* context, const PemSource& ca) {
  TM_TRY(auto roots, read_certificates(ca, "CA"));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const auto& root : roots) X509_STORE_add_cert(store, root.get());
  ERR_clear_error();
  return {};
}

void trust_system(SSL_CTX* context) {
  SSL_CTX_set_default_verify_paths(context);
  for (const char* bundle : kSystemBundles) {
    if (access(bundle, R_OK) == 0 && SSL_CTX_load_verify_file(context, bundle) == 1) break;
  }
  ERR_clear_error();
}

std::shared_ptr<SSL_CTX> make_context(const SSL_METHOD* method) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context) return nullptr;
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(raw, kTls12Ciphers);
  // No resumption: connections here live for hours, and a resumed one would let in a client whose certificate has been
  // taken from the CA since.
  SSL_CTX_set_options(raw, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(raw, 1);  // one call to the kernel a record instead of two
  // As in Go: a certificate in the CA file is trusted as it stands, be it a root, an intermediate or a server's own.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(raw), X509_V_FLAG_PARTIAL_CHAIN);
  return context;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size, const unsigned char* offered,
                    unsigned offered_size, void*) {
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, chosen_size, kProtocols, kProtocolsSize, offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::unexpected<Error> out_of_memory() {
  ERR_clear_error();
  return fail(ErrorKind::kInternal, "OpenSSL cannot make a context");
}

FollowingContext::Made make_client(const TlsClientConfig& config) {
  auto context = make_context(TLS_client_method());
  if (!context) return out_of_memory();
  if (config.certificate.given() != config.key.given()) {
    return fail(ErrorKind::kInvalid, "a client certificate needs its key, and a key its certificate");
  }
  if (config.certificate.given()) TM_TRY_VOID(use_certificate(context.get(), config.certificate, config.key));
  if (config.ca.given()) {
    TM_TRY_VOID(trust(context.get(), config.ca));
  } else if (!config.skip_verification) {
    trust_system(context.get());
  }
  SSL_CTX_set_verify(context.get(), config.skip_verification ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), kProtocols, kProtocolsSize);
  return context;
}

FollowingContext::Made make_server(const TlsServerConfig& config) {
  auto context = make_context(TLS_server_method());
  if (!context) return out_of_memory();
  // A server's many idle connections give their two 16 KiB buffers back; a client has one or two, and reads all day.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  if (!config.certificate.given() || !config.key.given()) {
    return fail(ErrorKind::kInvalid, "a TLS server needs a certificate and its key");
  }
  TM_TRY_VOID(use_certificate(context.get(), config.certificate, config.key));
  if (config.client_ca.given()) {
    TM_TRY_VOID(trust(context.get(), config.client_ca));
    TM_TRY(const auto roots, read_certificates(config.client_ca, "CA"));
    for (const auto& root : roots) SSL_CTX_add_client_CA(context.get(), root.get());
    SSL_CTX_set_verify(context.get(),
                       SSL_VERIFY_PEER | (config.require_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       nullptr);
  } else if (config.require_client_certificate) {
    return fail(ErrorKind::kInvalid, "client certificates are required, but no client CA is given to verify them");
  }
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  return context;
}

FollowingContext::Made make_self_signed(base::WallTime now) {
  constexpr base::Duration kLife = std::chrono::hours(24 * 3650);
  TM_TRY(auto made, make_certificate_authority("tidemark", now, kLife));  // its own certificate is self-signed
  TlsServerConfig config;
  config.certificate.text = std::move(made.certificate_pem);
  config.key.text = std::move(made.key_pem);
  return make_server(config);
}

std::vector<std::string> files_of(std::initializer_list<const PemSource*> sources) {
  std::vector<std::string> files;
  for (const PemSource* source : sources) {
    if (!source->file.empty()) files.push_back(source->file);
  }
  return files;
}

}  // namespace

FollowingContext::FollowingContext(std::vector<std::string> files, const base::Clock& clock, std::function<Made()> make)
    : files_(std::move(files)), clock_(clock), make_(std::move(make)) {}

std::vector<FollowingContext::Stamp> FollowingContext::look() const {
  std::vector<Stamp> stamps;
  for (const auto& file : files_) {
    struct stat status{};
    Stamp stamp;
    if (stat(file.c_str(), &status) == 0) {
      stamp = {status.st_dev,          status.st_ino,         status.st_size,        status.st_mtim.tv_sec,
               status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
    }
    stamps.push_back(stamp);
  }
  return stamps;
}

Result<void> FollowingContext::begin() {
  seen_ = look();
  looked_ = clock_.monotonic();
  TM_TRY(context_, make_());
  return {};
}

std::shared_ptr<SSL_CTX> FollowingContext::current() {
  if (!context_) {
    if (auto made = make_()) put(std::move(*made));
    return context_;
  }
  const auto now = clock_.monotonic();
  if (files_.empty() || now - looked_ < kLookInterval) return context_;
  looked_ = now;
  // Looked at before they are read: what changes in between is found the next time.
  auto stamps = look();
  if (stamps == seen_) {
    problem_.clear();  // wrong for a moment, and put back
    return context_;
  }
  if (auto made = make_()) {
    put(std::move(*made));
    seen_ = std::move(stamps);
    problem_.clear();
  } else {
    problem_ = std::move(made).error().message;
  }
  return context_;
}

TlsClientContext::TlsClientContext(TlsClientConfig config, const base::Clock& clock)
    : config_(std::move(config)), context_(files_of({&config_.ca, &config_.certificate, &config_.key}), clock, [this] {
        return make_client(config_);
      }) {}

TlsServerContext::TlsServerContext(TlsServerConfig config, const base::Clock& clock)
    : config_(std::move(config)),
      context_(files_of({&config_.certificate, &config_.key, &config_.client_ca}), clock, [this] {
        return config_.self_signed ? make_self_signed(context_.clock().wall()) : make_server(config_);
      }) {}

Result<void> TlsServerContext::use(std::string certificate_pem, std::string key_pem) {
  TlsServerConfig config = config_;
  config.certificate = {std::move(certificate_pem), ""};
  config.key = {std::move(key_pem), ""};
  TM_TRY(auto made, make_server(config));
  config_ = std::move(config);
  context_.put(std::move(made));
  return {};
}

Result<std::shared_ptr<TlsClientContext>> make_tls_client_context(const TlsClientConfig& config,
                                                                  const base::Clock& clock) {
  auto context = std::make_shared<TlsClientContext>(config, clock);
  TM_TRY_VOID(context->context().begin());
  return context;
}

Result<std::shared_ptr<TlsServerContext>> make_tls_server_context(const TlsServerConfig& config,
                                                                  const base::Clock& clock) {
  auto context = std::make_shared<TlsServerContext>(config, clock);
  if (config.self_signed) return context;
  TM_TRY_VOID(context->context().begin());
  return context;
}

}  // namespace tidemark::net
