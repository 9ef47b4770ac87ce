// Any text as /proc/loadavg or a boot id: refused, or numbers that stand in it.
#include "linux/proc/machine.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto load = parse_load(text)) {
    TM_CHECK(load->minute1_centi >= 0 && load->minutes15_centi >= 0 && load->running >= 0 && load->threads >= 0,
             "numbers that are there");
  }
  if (const auto id = parse_boot_id(text)) TM_CHECK(text.starts_with(*id), "the text itself");
  return 0;
}
