// Any text as /proc/meminfo: refused, or a machine that has memory and uses no more than that.
#include "linux/proc/memory_info.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = tidemark::linux::parse_memory_info({reinterpret_cast<const char*>(data), size});
  if (read) TM_CHECK(read->total > 0 && read->used() >= 0 && read->used() <= read->total, "within the machine");
  return 0;
}
