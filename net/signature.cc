#include "net/signature.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <utility>

#include "base/text.h"
#include "net/free_by.h"

namespace tidemark::net {
namespace {

constexpr int kRsaBitsMin = 2048;
constexpr std::size_t kRsaBytesMax = 1024;
constexpr std::size_t kExponentBytesMax = 8;
constexpr std::size_t kCoordinateBytes = 32;  // of P-256

using Number = std::unique_ptr<BIGNUM, FreeBy<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, FreeBy<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, FreeBy<OSSL_PARAM_free>>;
using KeyMaker = std::unique_ptr<EVP_PKEY_CTX, FreeBy<EVP_PKEY_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>>;
using EcSignature = std::unique_ptr<ECDSA_SIG, FreeBy<ECDSA_SIG_free>>;

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(octets(bytes), static_cast<int>(bytes.size()), nullptr));
}

// Null: OpenSSL does not take it as a key.
EVP_PKEY* make_key(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyMaker maker(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !maker || EVP_PKEY_fromdata_init(maker.get()) != 1) return nullptr;
  if (EVP_PKEY_fromdata(maker.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) return nullptr;
  return key;
}

// OpenSSL reads r and s as DER. Empty: not a signature.
std::string der_of(std::string_view r_and_s) {
  if (r_and_s.size() != 2 * kCoordinateBytes) return "";
  const EcSignature signature(ECDSA_SIG_new());
  Number r = number_of(r_and_s.substr(0, kCoordinateBytes)), s = number_of(r_and_s.substr(kCoordinateBytes));
  if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return "";
  (void)r.release();  // the signature owns them
  (void)s.release();
  unsigned char* bytes = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &bytes);
  if (size <= 0) return "";
  std::string der(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

}  // namespace

struct PublicKey::Key {
  std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>> pkey;
};

Result<PublicKey> PublicKey::rsa(std::string_view modulus, std::string_view exponent) {
  if (modulus.size() > kRsaBytesMax || exponent.empty() || exponent.size() > kExponentBytesMax) {
    return fail(ErrorKind::kInvalid, "the RSA key has a modulus of ", modulus.size(), " and an exponent of ",
                exponent.size(), " bytes");
  }
  const Number n = number_of(modulus), e = number_of(exponent);
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !builder || BN_num_bits(n.get()) < kRsaBitsMin || BN_is_odd(e.get()) == 0 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return fail(ErrorKind::kInvalid, "the RSA key is shorter than ", kRsaBitsMin, " bits, or is no key");
  }
  auto key = std::make_shared<Key>();
  key->pkey.reset(make_key("RSA", builder.get()));
  if (!key->pkey) return fail(ErrorKind::kInvalid, "the RSA key is not a key");
  return PublicKey(Algorithm::kRs256, std::move(key));
}

Result<PublicKey> PublicKey::p256(std::string_view x, std::string_view y) {
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes) {
    return fail(ErrorKind::kInvalid, "the coordinates of a P-256 key have ", x.size(), " and ", y.size(), " bytes");
  }
  const std::string point = base::cat("\x04", x, y);
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) != 1) {
    return fail(ErrorKind::kInternal, "cannot read the key: OpenSSL failed");
  }
  auto key = std::make_shared<Key>();
  key->pkey.reset(make_key("EC", builder.get()));
  if (!key->pkey) return fail(ErrorKind::kInvalid, "the P-256 key is not a point of the curve");
  return PublicKey(Algorithm::kEs256, std::move(key));
}

bool PublicKey::verifies(std::string_view text, std::string_view signature) const {
  const std::string der = algorithm_ == Algorithm::kEs256 ? der_of(signature) : std::string(signature);
  const Digest digest(EVP_MD_CTX_new());
  return !der.empty() && digest != nullptr &&
         EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key_->pkey.get()) == 1 &&
         EVP_DigestVerify(digest.get(), octets(der), der.size(), octets(text), text.size()) == 1;
}

}  // namespace tidemark::net
