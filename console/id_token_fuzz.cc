// Any text is an ID token or none; claims that are signed by the issuer are refused or are those of the login.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "console/id_token.h"
#include "net/issuer_key.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace console = tidemark::console;
  static const tidemark::net::IssuerKey kKey(tidemark::net::PublicKey::Algorithm::kEs256);
  static const auto kKeys = *console::parse_keys(tidemark::base::cat(R"({"keys":[)", kKey.jwk("k"), "]}"));
  const console::IdTokenRules rules{"https://issuer.example", "console", "n-1",
                                    tidemark::base::WallTime{std::chrono::seconds(1'795'000'000)}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TM_CHECK(check_id_token(text, kKeys, rules) != console::IdTokenFault::kNone, "a text that is not signed is refused");
  if (check_id_token(kKey.token(text, "k", "ES256"), kKeys, rules) == console::IdTokenFault::kNone) {
    const auto claims = tidemark::Json::parse(text);
    TM_CHECK(claims && claims->text_at("iss") == rules.issuer && claims->text_at("nonce") == rules.nonce,
             "a good token is of this login");
  }
  // As a header, with claims that would be good.
  constexpr std::string_view kGood =
      R"({"iss":"https://issuer.example","aud":"console","sub":"a","nonce":"n-1","iat":1795000000,"exp":1795000600})";
  if (check_id_token(kKey.token(text, kGood), kKeys, rules) == console::IdTokenFault::kNone) {
    const auto header = tidemark::Json::parse(text);
    TM_CHECK(header && header->text_at("alg") == "ES256", "only the algorithm of the key is accepted");
  }
  return 0;
}
