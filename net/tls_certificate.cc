// Making certificates and reading them: the authority and issue half of net/tls.h.
#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

#include "net/free_by.h"
#include "net/tls.h"

namespace tidemark::net {
namespace {

// Machines disagree about the time; a certificate made here must be valid there at once. Of a short life it is a tenth:
// else two thirds of what the certificate says of its life would be over when it is made.
constexpr base::Duration kClockSkew = std::chrono::minutes(5);
constexpr std::size_t kNamesMax = 1000;  // of one certificate
constexpr int kSerialBytes = 16;

using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, FreeBy<GENERAL_NAMES_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreeBy<X509_EXTENSION_free>>;

std::unexpected<Error> library_failed(std::string_view doing) {
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  auto failed = fail(ErrorKind::kInternal, doing, ": ", reason != nullptr ? reason : "OpenSSL failed");
  ERR_clear_error();
  return failed;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Result<std::string> to_pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) return library_failed("writing a certificate");
  return text_of(bio.get());
}

Result<std::string> to_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_secmem()));  // wiped when it is freed
  if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return library_failed("writing a key");
  }
  return text_of(bio.get());
}

bool set_time(ASN1_TIME* time, base::WallTime at) {
  return ASN1_TIME_set(time, std::chrono::duration_cast<std::chrono::seconds>(at.since_epoch).count()) != nullptr;
}

bool set_serial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes{};
  if (RAND_bytes(bytes.data(), kSerialBytes) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);  // positive, and of full length
  const std::unique_ptr<BIGNUM, FreeBy<BN_free>> number(BN_bin2bn(bytes.data(), kSerialBytes, nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_name(X509_NAME* name, const char* field, std::string_view text) {
  return text.empty() ||
         X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

// Only for constant texts: foreign text in OpenSSL's extension language could say more than meant.
bool add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool push_name(GENERAL_NAMES* names, int type, std::string_view bytes) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_STRING* text = type == GEN_DNS ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
  if (name == nullptr || text == nullptr || ASN1_STRING_set(text, bytes.data(), static_cast<int>(bytes.size())) != 1) {
    GENERAL_NAME_free(name);
    ASN1_STRING_free(text);
    return false;
  }
  GENERAL_NAME_set0_value(name, type, text);
  if (sk_GENERAL_NAME_push(names, name) > 0) return true;
  GENERAL_NAME_free(name);
  return false;
}

Result<void> add_alternative_names(X509* certificate, const CertificateRequest& request) {
  if (request.dns_names.empty() && request.ip_addresses.empty()) return {};
  const Names names(GENERAL_NAMES_new());
  if (!names) return library_failed("naming a certificate");
  for (const auto& name : request.dns_names) {
    if (name.empty() || name.find_first_of(std::string_view("\0 /", 3)) != std::string::npos) {
      return fail(ErrorKind::kInvalid, "DNS name ", base::in_quotes(name), " cannot stand in a certificate");
    }
    if (!push_name(names.get(), GEN_DNS, name)) return library_failed("naming a certificate");
  }
  for (const auto& address : request.ip_addresses) {
    char bytes[sizeof(in6_addr)];
    std::size_t size = 0;
    if (inet_pton(AF_INET, address.c_str(), bytes) == 1) size = sizeof(in_addr);
    if (size == 0 && inet_pton(AF_INET6, address.c_str(), bytes) == 1) size = sizeof(in6_addr);
    if (size == 0) return fail(ErrorKind::kInvalid, base::in_quotes(address), " is not an IP address");
    if (!push_name(names.get(), GEN_IPADD, {bytes, size})) return library_failed("naming a certificate");
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1) {
    return library_failed("naming a certificate");
  }
  return {};
}

struct Draft {
  Key key;
  Certificate certificate;
};

Result<Draft> draft(std::string_view common_name, std::string_view organization, base::WallTime now,
                    base::Duration lifetime) {
  Draft made{Key(EVP_EC_gen("P-256")), Certificate(X509_new())};
  X509* certificate = made.certificate.get();
  if (!made.key || certificate == nullptr) return library_failed("making a key");
  X509_NAME* subject = X509_get_subject_name(certificate);
  const bool done = X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
                    set_time(X509_getm_notBefore(certificate), now + -std::min(kClockSkew, lifetime / 10)) &&
                    set_time(X509_getm_notAfter(certificate), now + lifetime) &&
                    X509_set_pubkey(certificate, made.key.get()) == 1;
  if (!done) return library_failed("making a certificate");
  if (!add_name(subject, "O", organization) || !add_name(subject, "CN", common_name)) {
    ERR_clear_error();
    return fail(ErrorKind::kInvalid, "name ", base::in_quotes(common_name), " of ", base::in_quotes(organization),
                " cannot stand in a certificate: 1 to 64 characters of UTF-8 each");
  }
  return made;
}

// The default callback asks on the terminal.
int empty_password(char*, int, int, void*) {
  return 0;
}

Result<Certificate> parse_certificate(std::string_view pem, std::string_view what) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, empty_password, nullptr) : nullptr);
  if (certificate) return certificate;
  ERR_clear_error();
  return fail(ErrorKind::kInvalid, what, " holds no certificate that can be read");
}

Result<Key> parse_key(std::string_view pem, std::string_view what) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Key key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, empty_password, nullptr) : nullptr);
  if (key) return key;
  ERR_clear_error();
  return fail(ErrorKind::kInvalid, what, " holds no private key that can be read without a password");
}

Result<base::WallTime> wall_time(const ASN1_TIME* time) {
  std::tm fields{};
  if (ASN1_TIME_to_tm(time, &fields) != 1) return library_failed("reading a certificate's validity");
  return base::WallTime{std::chrono::seconds(timegm(&fields))};
}

void read_names(const X509* certificate, CertificateFacts& facts) {
  const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const auto* text =
        static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type));
    if (type != GEN_DNS && type != GEN_IPADD) continue;
    const unsigned char* bytes = ASN1_STRING_get0_data(text);
    const int size = ASN1_STRING_length(text);
    if (type == GEN_DNS) {
      facts.dns_names.emplace_back(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
      continue;
    }
    char shown[INET6_ADDRSTRLEN] = {};
    const int family = size == sizeof(in_addr) ? AF_INET : AF_INET6;
    if ((family == AF_INET || size == sizeof(in6_addr)) && inet_ntop(family, bytes, shown, sizeof shown) != nullptr) {
      facts.ip_addresses.emplace_back(shown);
    }
  }
}

}  // namespace

Result<CertificateFacts> read_certificate(std::string_view certificate_pem) {
  TM_TRY(const Certificate certificate, parse_certificate(certificate_pem, "the text"));
  CertificateFacts facts;
  TM_TRY(facts.not_before, wall_time(X509_get0_notBefore(certificate.get())));
  TM_TRY(facts.not_after, wall_time(X509_get0_notAfter(certificate.get())));
  read_names(certificate.get(), facts);
  return facts;
}

Result<void> check_certificate(const IssuedCertificate& certificate, std::string_view authority_certificate_pem) {
  TM_TRY(const Certificate issued, parse_certificate(certificate.certificate_pem, "the certificate"));
  TM_TRY(const Certificate issuer, parse_certificate(authority_certificate_pem, "the authority"));
  TM_TRY(const Key key, parse_key(certificate.key_pem, "the key"));
  const bool own_key = X509_check_private_key(issued.get(), key.get()) == 1;
  const bool signed_by = X509_verify(issued.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  if (!own_key) return fail(ErrorKind::kInvalid, "the key is not the certificate's");
  if (!signed_by) return fail(ErrorKind::kInvalid, "the certificate is not signed by this authority");
  return {};
}

Result<CertificateAuthority> make_certificate_authority(std::string_view common_name, base::WallTime now,
                                                        base::Duration lifetime) {
  TM_TRY(Draft made, draft(common_name, "", now, lifetime));
  X509* certificate = made.certificate.get();
  const bool done = X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
                    add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE") &&
                    add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    add_extension(certificate, certificate, NID_subject_key_identifier, "hash") &&
                    X509_sign(certificate, made.key.get(), EVP_sha256()) > 0;
  if (!done) return library_failed("making a certificate authority");
  CertificateAuthority authority;
  TM_TRY(authority.certificate_pem, to_pem(certificate));
  TM_TRY(authority.key_pem, to_pem(made.key.get()));
  return authority;
}

Result<IssuedCertificate> issue_certificate(const CertificateAuthority& authority, const CertificateRequest& request,
                                            base::WallTime now) {
  if (request.dns_names.size() + request.ip_addresses.size() > kNamesMax) {
    return fail(ErrorKind::kInvalid, "a certificate takes at most ", kNamesMax, " names");
  }
  TM_TRY(const Certificate issuer, parse_certificate(authority.certificate_pem, "the authority"));
  TM_TRY(const Key issuer_key, parse_key(authority.key_pem, "the authority"));

  TM_TRY(Draft made, draft(request.common_name, request.organization, now, request.lifetime));
  X509* certificate = made.certificate.get();
  const bool done =
      X509_set_issuer_name(certificate, X509_get_subject_name(issuer.get())) == 1 &&
      add_extension(certificate, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(certificate, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(certificate, issuer.get(), NID_ext_key_usage, request.for_client ? "clientAuth" : "serverAuth") &&
      add_extension(certificate, issuer.get(), NID_subject_key_identifier, "hash") &&
      add_extension(certificate, issuer.get(), NID_authority_key_identifier, "keyid");
  if (!done) return library_failed("making a certificate");
  TM_TRY_VOID(add_alternative_names(certificate, request));
  if (X509_sign(certificate, issuer_key.get(), EVP_sha256()) <= 0) return library_failed("signing a certificate");
  IssuedCertificate issued;
  TM_TRY(issued.certificate_pem, to_pem(certificate));
  TM_TRY(issued.key_pem, to_pem(made.key.get()));
  return issued;
}

}  // namespace tidemark::net
