// Any text as /proc/stat: refused, or times whose sum does not overflow.
#include "linux/proc/cpu_times.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  MachineCpuTimes out;
  if (!parse_cpu_times({reinterpret_cast<const char*>(data), size}, out)) return 0;
  TM_CHECK(out.all.busy() >= 0 && out.all.idle >= 0, "time goes forward");
  for (const auto& one : out.each) TM_CHECK(one.cpu >= 0 && one.times.busy() >= 0, "a processor and its times");
  return 0;
}
