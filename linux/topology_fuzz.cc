// Any text as the id of a core or socket: refused, none, or a number that is written as it was read.
#include "linux/topology.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto id = tidemark::linux::parse_topology_id({reinterpret_cast<const char*>(data), size});
  if (!id || !*id) return 0;
  TM_CHECK(**id >= 0, "an id");
  const auto again = tidemark::linux::parse_topology_id(tidemark::base::cat(**id, '\n'));
  TM_CHECK(again && *again == *id, "the same id");
  return 0;
}
