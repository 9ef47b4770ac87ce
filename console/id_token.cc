#include "console/id_token.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "net/http.h"
#include "net/seal.h"

namespace tidemark::console {
namespace {

using Algorithm = net::PublicKey::Algorithm;

std::optional<Algorithm> algorithm_of(std::string_view name) {
  if (name == "RS256") return Algorithm::kRs256;
  if (name == "ES256") return Algorithm::kEs256;
  return std::nullopt;
}

// Bytes of a member in base64url; nullopt: absent or wrong.
std::optional<std::string> bytes_at(const Json& key, std::string_view name) {
  const std::string_view text = key.text_at(name);
  return text.empty() ? std::nullopt : net::from_base64url(text);
}

std::optional<SigningKey> key_of(const Json& json) {
  const std::string_view use = json.text_at("use"), type = json.text_at("kty"), algorithm = json.text_at("alg");
  if (!use.empty() && use != "sig") return std::nullopt;
  const auto take = [&](Result<net::PublicKey> key) -> std::optional<SigningKey> {
    if (!key || (!algorithm.empty() && algorithm_of(algorithm) != key->algorithm())) return std::nullopt;
    return SigningKey{std::string(json.text_at("kid")), *std::move(key)};
  };
  if (type == "RSA") {
    const auto modulus = bytes_at(json, "n"), exponent = bytes_at(json, "e");
    if (modulus && exponent) return take(net::PublicKey::rsa(*modulus, *exponent));
  } else if (type == "EC" && json.text_at("crv") == "P-256") {
    const auto x = bytes_at(json, "x"), y = bytes_at(json, "y");
    if (x && y) return take(net::PublicKey::p256(*x, *y));
  }
  return std::nullopt;
}

// One part of a token; nullopt: not a JSON object in base64url.
std::optional<Json> object_in(std::string_view part) {
  const auto text = net::from_base64url(part);
  if (!text) return std::nullopt;
  auto json = Json::parse(*text);
  if (!json || !json->is_object()) return std::nullopt;
  return *std::move(json);
}

bool is_for(const Json& claims, std::string_view client_id) {
  const Json* audience = claims.member("aud");
  const std::string_view authorized = claims.text_at("azp");
  if (audience == nullptr || (claims.member("azp") != nullptr && authorized != client_id)) return false;
  if (audience->is_string()) return audience->as_string() == client_id;
  if (!audience->is_array()) return false;
  const auto& all = audience->as_array();
  const bool there =
      std::ranges::any_of(all, [&](const Json& each) { return each.is_string() && each.as_string() == client_id; });
  // With several audiences the token has to say for which one it was made.
  return there && (all.size() == 1 || authorized == client_id);
}

// A time in seconds since 1970; also with a fraction. One after 2255 counts as 2255: nanoseconds have 64 bits.
std::optional<base::WallTime> time_at(const Json& claims, std::string_view name) {
  constexpr double kLatest_s = 1e11, kCounted_s = 9e9;
  const Json* found = claims.member(name);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  const double value = found->as_double();
  if (!(value >= 0) || value > kLatest_s) return std::nullopt;
  return base::WallTime{std::chrono::seconds(static_cast<std::int64_t>(std::min(value, kCounted_s)))};
}

IdTokenFault check_claims(const Json& claims, const IdTokenRules& rules) {
  if (claims.text_at("iss") != rules.issuer || rules.issuer.empty()) return IdTokenFault::kIssuer;
  if (!is_for(claims, rules.client_id)) return IdTokenFault::kAudience;
  if (claims.text_at("sub").empty()) return IdTokenFault::kMalformed;
  const auto expires = time_at(claims, "exp"), issued = time_at(claims, "iat");
  if (!expires || !issued) return IdTokenFault::kMalformed;
  if (rules.now >= *expires + kClockSkew) return IdTokenFault::kExpired;
  if (*issued > rules.now + kClockSkew) return IdTokenFault::kNotYetValid;
  if (claims.member("nbf") != nullptr) {
    const auto begins = time_at(claims, "nbf");
    if (!begins) return IdTokenFault::kMalformed;
    if (*begins > rules.now + kClockSkew) return IdTokenFault::kNotYetValid;
  }
  if (rules.nonce && (rules.nonce->empty() || claims.text_at("nonce") != *rules.nonce)) return IdTokenFault::kNonce;
  if (!rules.subject.empty() && claims.text_at("sub") != rules.subject) return IdTokenFault::kSubject;
  return IdTokenFault::kNone;
}

Result<std::string> https_at(const Json& json, std::string_view name) {
  const std::string_view text = json.text_at(name);
  const auto url = net::parse_url(text.substr(0, text.find('?')));
  if (!url || url->scheme != "https" || text.find('#') != std::string_view::npos) {
    return fail(ErrorKind::kInvalid, name, ": ", base::in_quotes(text), " is not an https address");
  }
  return std::string(text);
}

}  // namespace

Result<std::vector<SigningKey>> parse_keys(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  const Json* list = json.member("keys");
  std::vector<SigningKey> keys;
  if (list != nullptr && list->is_array()) {
    for (const Json& each : list->as_array()) {
      if (keys.size() == kKeysMax) break;
      if (!each.is_object()) continue;
      if (auto key = key_of(each)) keys.push_back(*std::move(key));
    }
  }
  if (keys.empty()) return fail(ErrorKind::kInvalid, "the issuer publishes no key for RS256 or ES256");
  return keys;
}

std::string_view to_string(IdTokenFault fault) {
  constexpr std::array<std::string_view, 11> kTexts = {
      "it is good",
      "it is not a signed JSON Web Token with sub, exp and iat",
      "its algorithm is not RS256 or ES256",
      "the issuer does not publish its key",
      "its signature is wrong",
      "it is from another issuer",
      "it is for another audience",
      "it is expired",
      "it is not valid yet",
      "its nonce is not that of this login",
      "it is for another person",
  };
  return kTexts.at(static_cast<std::size_t>(fault));
}

IdTokenFault check_id_token(std::string_view token, const std::vector<SigningKey>& keys, const IdTokenRules& rules) {
  if (token.size() > kIdTokenBytesMax) return IdTokenFault::kMalformed;
  const auto parts = base::split(token, '.');
  if (parts.size() != 3) return IdTokenFault::kMalformed;
  const auto header = object_in(parts[0]);
  const auto signature = net::from_base64url(parts[2]);
  // `crit` names extensions that a reader must know; none is known here.
  if (!header || !signature || header->member("crit") != nullptr) return IdTokenFault::kMalformed;
  const auto algorithm = algorithm_of(header->text_at("alg"));
  if (!algorithm) return IdTokenFault::kAlgorithm;
  const std::string_view id = header->text_at("kid");
  const std::string_view signed_text = token.substr(0, parts[0].size() + 1 + parts[1].size());
  bool known = false, good = false;
  for (const SigningKey& each : keys) {
    if (each.key.algorithm() != *algorithm || (!id.empty() && each.id != id)) continue;
    known = true;
    if (each.key.verifies(signed_text, *signature)) {
      good = true;
      break;
    }
  }
  if (!known) return IdTokenFault::kUnknownKey;
  if (!good) return IdTokenFault::kSignature;
  const auto claims = object_in(parts[1]);
  return claims ? check_claims(*claims, rules) : IdTokenFault::kMalformed;
}

std::optional<IdTokenFacts> facts_of(std::string_view token) {
  const auto parts = base::split(token, '.');
  const auto claims = parts.size() == 3 ? object_in(parts[1]) : std::nullopt;
  const auto expires = claims ? time_at(*claims, "exp") : std::nullopt;
  if (!expires || claims->text_at("sub").empty()) return std::nullopt;
  return IdTokenFacts{std::string(claims->text_at("sub")), *expires};
}

Result<Discovery> parse_discovery(std::string_view text, std::string_view issuer) {
  TM_TRY(const Json json, Json::parse(text));
  if (json.text_at("issuer") != issuer) {
    return fail(ErrorKind::kInvalid, "the document is of issuer ", base::in_quotes(json.text_at("issuer")));
  }
  Discovery out;
  TM_TRY(out.authorization_endpoint, https_at(json, "authorization_endpoint"));
  TM_TRY(out.token_endpoint, https_at(json, "token_endpoint"));
  TM_TRY(out.jwks_uri, https_at(json, "jwks_uri"));
  if (json.member("revocation_endpoint") != nullptr) {
    TM_TRY(out.revocation_endpoint, https_at(json, "revocation_endpoint"));
  }
  const Json* methods = json.member("token_endpoint_auth_methods_supported");
  if (methods != nullptr && methods->is_array()) {
    out.secret_in_body = std::ranges::none_of(methods->as_array(), [](const Json& each) {
      return each.is_string() && each.as_string() == "client_secret_basic";
    });
  }
  return out;
}

}  // namespace tidemark::console
