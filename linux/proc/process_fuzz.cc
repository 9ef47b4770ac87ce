// Any text as a file of /proc/<pid>: refused, or parsed.
#include "linux/proc/process.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto queue = parse_schedstat(text)) {
    TM_CHECK(queue->ran_ns >= 0 && queue->waited_ns >= 0 && queue->times_run >= 0, "time goes forward");
  }
  if (const auto owner = parse_process_owner(text)) TM_CHECK(owner->uid >= 0, "a user");
  (void)parse_handles(text, 15);
  if (const auto start = parse_start_ticks(text)) TM_CHECK(*start >= 0, "after the start of the machine");
  return 0;
}
