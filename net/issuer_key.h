// A key of an issuer of JSON Web Tokens, made new: for tests of what verifies tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/signature.h"

namespace tidemark::net {

class IssuerKey {
 public:
  explicit IssuerKey(PublicKey::Algorithm algorithm, unsigned rsa_bits = 2048);

  std::string_view name() const;               // "RS256"
  std::string jwk(std::string_view id) const;  // the public key as JSON, with the members alg and use
  // The signature of a JSON Web Signature, as bytes.
  std::string sign(std::string_view text) const;
  // "HEADER.CLAIMS.SIGNATURE"
  std::string token(std::string_view header, std::string_view claims) const;
  std::string token(std::string_view claims, std::string_view id, std::string_view algorithm) const;

 private:
  struct Key;
  std::string number(const char* name, int size = 0) const;

  PublicKey::Algorithm algorithm_;
  std::shared_ptr<const Key> key_;
};

}  // namespace tidemark::net
