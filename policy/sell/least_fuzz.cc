// Any bytes of stored least offers are read or refused with a reason; what is read is written and read again unchanged,
// and offers nothing below 0.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/sell/least.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto& read : {policy::sell::decode_least(bytes), policy::sell::decode_least_text(bytes)}) {
    TM_CHECK(read.has_value() || !read.error().message.empty(), "a refusal says what is wrong");
    if (!read) continue;
    const auto again = policy::sell::decode_least(policy::sell::encode_least(*read));
    TM_CHECK(again.has_value() && *again == *read, "what we write we can read");
    for (int hour = 0; hour < 24; ++hour) {
      const auto least = policy::sell::least_at(*read, {std::chrono::hours(hour)});
      TM_CHECK(!least || (least->cpu.value >= 0 && least->memory.value >= 0), "never below 0");
    }
  }
  return 0;
}
