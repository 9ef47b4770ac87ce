// Any text is a discovery document or a key set of the issuer, or is refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "console/id_token.h"
#include "net/http.h"

namespace {

// As the console asks it: the case of a scheme does not matter.
bool asked_over_tls(std::string_view address) {
  const auto url = tidemark::net::parse_url(address.substr(0, address.find('?')));
  return url && url->scheme == "https";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace console = tidemark::console;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto document = console::parse_discovery(text, "https://issuer.example")) {
    TM_CHECK(asked_over_tls(document->token_endpoint) && asked_over_tls(document->jwks_uri),
             "secrets go out over TLS only");
  } else {
    TM_CHECK(!document.error().message.empty(), "a refusal says what is wrong");
  }
  if (const auto keys = console::parse_keys(text)) {
    TM_CHECK(!keys->empty() && keys->size() <= console::kKeysMax, "a key set has keys");
    TM_CHECK(!keys->front().key.verifies("text", "signature"), "a signature has the length of the key");
  }
  return 0;
}
