// Any text as pressure: refused, or shares of the time between nothing and all of it.
#include "linux/psi.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = tidemark::linux::parse_pressure({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  TM_CHECK(read->some || read->full, "at least one line");
  for (const auto& line : {read->some, read->full}) {
    if (!line) continue;
    for (const auto average : {line->avg10_centi, line->avg60_centi, line->avg300_centi}) {
      TM_CHECK(average >= 0 && average <= 10'000, "a share of the time");
    }
    TM_CHECK(line->total_us >= 0, "time goes forward");
  }
  return 0;
}
