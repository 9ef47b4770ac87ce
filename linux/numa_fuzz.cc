// Any text as the memory of a NUMA node: refused, or a node that uses no more than it has.
#include "linux/numa.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = tidemark::linux::parse_numa_memory({reinterpret_cast<const char*>(data), size});
  if (read) TM_CHECK(read->used() >= 0 && read->used() <= read->total, "within the node");
  return 0;
}
