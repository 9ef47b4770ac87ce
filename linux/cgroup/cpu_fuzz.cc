// Any text as cpu.stat or cpuacct.usage: refused, or a number from it; never zero for a text without numbers.
#include "linux/cgroup/cpu.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool digits = text.find_first_of("0123456789") != std::string_view::npos;
  for (const Version version : {Version::kV1, Version::kV2}) {
    const auto usage = parse_cpu_usage_ns(text, version);
    TM_CHECK(!usage || (*usage >= 0 && digits), "a number that is there");
    const auto throttling = parse_cpu_throttling(text, version);
    TM_CHECK(!throttling || (throttling->periods >= 0 && throttling->throttled_periods >= 0 &&
                             throttling->throttled_ns >= 0 && digits),
             "numbers that are there");
  }
  return 0;
}
