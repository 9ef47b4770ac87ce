// Any text as a threshold of a kubelet: refused, none, or within the capacity if it is a share.
#include "policy/evict/eviction_threshold.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::policy::evict;
  const auto threshold = parse_eviction_threshold({reinterpret_cast<const char*>(data), size});
  if (!threshold || !*threshold) return 0;
  for (const std::int64_t capacity : {std::int64_t{0}, std::int64_t{1}, std::numeric_limits<std::int64_t>::max()}) {
    const std::int64_t bytes = threshold_bytes(**threshold, capacity);
    TM_CHECK(bytes >= 0, "never negative");
    TM_CHECK((*threshold)->milli_percent == 0 || bytes <= capacity, "a share stays within the capacity");
  }
  return 0;
}
