// Any text as a target, a URL and a percent-encoded word: no crash, and what is accepted survives a round trip.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "net/http.h"

using namespace tidemark::net;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TM_CHECK(percent_decode(percent_encode(text)) == text, "encoding loses nothing");
  if (const auto target = parse_target(text)) {
    TM_CHECK(!target->path.empty(), "a target has a path");
    for (const auto& [key, value] : target->query) {
      TM_CHECK(percent_decode(percent_encode(key)) == key && percent_decode(percent_encode(value)) == value,
               "decoded words encode again");
    }
  }
  if (const auto url = parse_url(text)) {
    TM_CHECK(!url->host.empty(), "a URL has a host");
    TM_CHECK(url->path.empty() || (url->path.front() == '/' && url->path.back() != '/'), "a prefix has one form");
  }
  return 0;
}
