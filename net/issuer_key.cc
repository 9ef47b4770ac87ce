#include "net/issuer_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <cstddef>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "net/free_by.h"
#include "net/seal.h"

namespace tidemark::net {
namespace {

using base::cat;

constexpr int kPointBytes = 32;  // a coordinate of P-256

// OpenSSL writes r and s as DER.
std::string r_and_s(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<ECDSA_SIG, FreeBy<ECDSA_SIG_free>> signature(
      d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  std::string out(2 * kPointBytes, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), bytes, kPointBytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), bytes + kPointBytes, kPointBytes);
  return out;
}

}  // namespace

struct IssuerKey::Key {
  std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>> pkey;
};

IssuerKey::IssuerKey(PublicKey::Algorithm algorithm, unsigned rsa_bits) : algorithm_(algorithm) {
  auto key = std::make_shared<Key>();
  key->pkey.reset(algorithm == PublicKey::Algorithm::kRs256 ? EVP_RSA_gen(rsa_bits) : EVP_EC_gen("P-256"));
  TM_CHECK(key->pkey != nullptr, "OpenSSL makes keys");
  key_ = std::move(key);
}

std::string_view IssuerKey::name() const {
  return algorithm_ == PublicKey::Algorithm::kRs256 ? "RS256" : "ES256";
}

std::string IssuerKey::jwk(std::string_view id) const {
  const std::string head = cat(R"({"kid":")", id, R"(","use":"sig","alg":")", name(), R"(",)");
  if (algorithm_ == PublicKey::Algorithm::kRs256) {
    return cat(head, R"("kty":"RSA","n":")", number(OSSL_PKEY_PARAM_RSA_N), R"(","e":")", number(OSSL_PKEY_PARAM_RSA_E),
               R"("})");
  }
  return cat(head, R"("kty":"EC","crv":"P-256","x":")", number(OSSL_PKEY_PARAM_EC_PUB_X, kPointBytes), R"(","y":")",
             number(OSSL_PKEY_PARAM_EC_PUB_Y, kPointBytes), R"("})");
}

std::string IssuerKey::sign(std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>> digest(EVP_MD_CTX_new());
  std::size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const bool begun = EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_->pkey.get()) == 1 &&
                     EVP_DigestSign(digest.get(), nullptr, &size, bytes, text.size()) == 1;
  std::string out(size, '\0');
  TM_CHECK(begun && EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes,
                                   text.size()) == 1,
           "OpenSSL signs");
  out.resize(size);
  return algorithm_ == PublicKey::Algorithm::kEs256 ? r_and_s(out) : out;
}

std::string IssuerKey::token(std::string_view header, std::string_view claims) const {
  const std::string text = cat(base64url(header), ".", base64url(claims));
  return cat(text, ".", base64url(sign(text)));
}

std::string IssuerKey::token(std::string_view claims, std::string_view id, std::string_view algorithm) const {
  return token(cat(R"({"alg":")", algorithm, R"(","kid":")", id, R"("})"), claims);
}

std::string IssuerKey::number(const char* name, int size) const {
  BIGNUM* found = nullptr;
  TM_CHECK(EVP_PKEY_get_bn_param(key_->pkey.get(), name, &found) == 1, "the key has this number");
  const std::unique_ptr<BIGNUM, FreeBy<BN_free>> value(found);
  std::string out(static_cast<std::size_t>(size == 0 ? BN_num_bytes(found) : size), '\0');
  BN_bn2binpad(found, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size()));
  return base64url(out);
}

}  // namespace tidemark::net
