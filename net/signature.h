// Signatures by the public keys of JSON Web Keys (RFC 7517, 7518), by OpenSSL.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::net {

// A key verifies one algorithm only, so a signature cannot choose another one: RSASSA-PKCS1-v1_5 with SHA-256 (RS256),
// or ECDSA with P-256 and SHA-256 (ES256).
class PublicKey {
 public:
  enum class Algorithm : std::uint8_t { kRs256, kEs256 };

  // Big-endian bytes. kInvalid: not a key, or RSA with less than 2048 or more than 8192 bits.
  static Result<PublicKey> rsa(std::string_view modulus, std::string_view exponent);
  static Result<PublicKey> p256(std::string_view x, std::string_view y);

  Algorithm algorithm() const { return algorithm_; }
  // `signature` as in a JSON Web Signature: of ES256 the 64 bytes r, s.
  bool verifies(std::string_view text, std::string_view signature) const;

 private:
  struct Key;
  PublicKey(Algorithm algorithm, std::shared_ptr<const Key> key) : algorithm_(algorithm), key_(std::move(key)) {}

  Algorithm algorithm_;
  std::shared_ptr<const Key> key_;
};

}  // namespace tidemark::net
