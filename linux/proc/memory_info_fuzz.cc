// Any text as /proc/meminfo: refused, or a machine that has memory and uses no more than that.
#include "linux/proc/memory_info.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = tidemark::linux::parse_memory_info({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  TM_CHECK(read->total > 0 && read->used() >= 0 && read->used() <= read->total, "within the machine");
  for (const auto version : {tidemark::linux::Version::kV1, tidemark::linux::Version::kV2}) {
    const std::int64_t working_set = read->working_set(version).value_or(0);
    TM_CHECK(working_set >= 0 && working_set <= read->total, "within the machine");
  }
  return 0;
}
