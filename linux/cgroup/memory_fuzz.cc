// Any text as memory.stat, memory.events or memory.oom_control: refused, or numbers that stand in it.
#include "linux/cgroup/memory.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool digits = text.find_first_of("0123456789") != std::string_view::npos;
  for (const Version version : {Version::kV1, Version::kV2}) {
    const auto stat = parse_memory_stat(text, version);
    TM_CHECK(!stat || (stat->inactive_file.value() >= 0 && stat->anon.value() >= 0 && digits),
             "numbers that are there");
    const auto events = parse_memory_events(text, version);
    TM_CHECK(!events || digits, "numbers that are there");
  }
  return 0;
}
