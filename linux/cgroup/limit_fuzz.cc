// Any text as a limit: refused, or a value that is written so that it reads back as the same.
#include "linux/cgroup/limit.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const File file : {File::kCpuShares, File::kCpuQuota, File::kCpuPeriod, File::kCpuBvt, File::kCpuQosLevel,
                          File::kMemoryLimit, File::kMemoryMin, File::kPidsLimit}) {
    for (const Version version : {Version::kV1, Version::kV2}) {
      const auto value = parse_value(file, version, text);
      if (!value) continue;
      TM_CHECK(*value >= (file == File::kCpuQosLevel ? -2 : kUnlimited), "a level, a number or none");
      const auto written = value_text(file, version, *value);
      const bool one_file = version == Version::kV2 && (file == File::kCpuQuota || file == File::kCpuPeriod);
      if (!written || one_file) continue;  // cpu.max takes less than it shows
      const auto again = parse_value(file, version, *written);
      TM_CHECK(again && (*again == *value || file == File::kCpuShares), "the same value");
    }
  }
  return 0;
}
