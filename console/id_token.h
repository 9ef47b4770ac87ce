// ID tokens of OpenID Connect: which keys an issuer has, and whether a token is from it and for this login. Pure.
//
// Accepted are RS256 and ES256 with a key that the issuer publishes for exactly this algorithm. So `none`, and HS256
// with a public key as its secret, are refused without a list of bad algorithms.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/signature.h"

namespace tidemark::console {

struct SigningKey {
  std::string id;  // "" if the issuer gives none
  net::PublicKey key;
};

inline constexpr std::size_t kKeysMax = 32;
inline constexpr std::size_t kIdTokenBytesMax = 16 * 1024;
inline constexpr base::Duration kClockSkew = std::chrono::seconds(60);

// Of a JSON Web Key Set. Keys for another use or another algorithm are left out. kInvalid: no key is left.
Result<std::vector<SigningKey>> parse_keys(std::string_view text);

// What the token must say.
struct IdTokenRules {
  std::string_view issuer;
  std::string_view client_id;
  std::optional<std::string_view> nonce;  // nullopt: the token comes from a refresh, which has no nonce of its own
  base::WallTime now;
  std::string_view subject = {};  // "": any
};
enum class IdTokenFault : std::uint8_t {
  kNone,
  kMalformed,
  kAlgorithm,
  kUnknownKey,  // the issuer may have a new key
  kSignature,
  kIssuer,
  kAudience,
  kExpired,
  kNotYetValid,
  kNonce,
  kSubject,
};
std::string_view to_string(IdTokenFault fault);
// Total. kNone: the token is good.
IdTokenFault check_id_token(std::string_view token, const std::vector<SigningKey>& keys, const IdTokenRules& rules);

// What a token that was accepted says. nullopt: it is no ID token.
struct IdTokenFacts {
  std::string subject;
  base::WallTime expires;
};
std::optional<IdTokenFacts> facts_of(std::string_view token);

// What the issuer says of itself under /.well-known/openid-configuration.
struct Discovery {
  std::string authorization_endpoint, token_endpoint, jwks_uri;  // all with https
  std::string revocation_endpoint;                               // the same; "": it revokes no token (RFC 7009)
  bool secret_in_body = false;  // the token endpoint takes no client secret in the header Authorization
};
// kInvalid: it is of another issuer, or an address that it needs is missing, or one is not https.
Result<Discovery> parse_discovery(std::string_view text, std::string_view issuer);

}  // namespace tidemark::console
