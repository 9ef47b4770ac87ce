// Any text as an address, and as a certificate: read or refused, and an address reads back as it is written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/address.h"
#include "net/http_fields.h"
#include "net/tls.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::net;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto address = listen_address(text)) {
    const auto again = listen_address(address->text());
    TM_CHECK(again && again->text() == address->text(), "an address reads back as it is written");
  } else {
    TM_CHECK(!address.error().message.empty(), "a refusal says what is wrong");
  }
  if (const auto address = ip_address(text, 80)) TM_CHECK(address->port() == 80, "the port that was given");
  (void)unix_address(text);

  if (const auto length = parse_content_length(text)) {
    TM_CHECK(*length < std::uint64_t{1'000'000'000'000'000'000}, "sums of lengths do not overflow");
  }
  (void)list_has(text, "close");

  const auto facts = read_certificate(text);
  TM_CHECK(facts || !facts.error().message.empty(), "a refusal says what is wrong");
  const std::string half(text.substr(size / 2));
  const auto good = check_certificate({std::string(text.substr(0, size / 2)), half}, half);
  TM_CHECK(!good, "a certificate is never its own key's text");
  return 0;
}
