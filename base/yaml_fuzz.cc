// Any bytes: read or refused, never a crash; what was read is written and read back the same.
#include "base/check.h"
#include "base/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::base;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_yaml(text);
  TM_CHECK(parsed || !parsed.error().message.empty(), "an error says why");
  if (!parsed) return 0;
  const std::string written = to_yaml(*parsed);
  const auto again = parse_yaml(written);
  TM_CHECK(again.has_value(), "what we write, we read");
  TM_CHECK(*again == *parsed, "and it is the same");
  return 0;
}
