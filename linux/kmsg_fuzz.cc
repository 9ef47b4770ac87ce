// Any text as a record of the kernel's log, as a line of it, or as its message: refused, skipped, or returned as parts
// of itself.
#include "linux/kmsg.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto message = parse_kernel_message(text)) {
    TM_CHECK(message->priority >= 0 && message->priority < 8 && message->sequence >= 0, "a priority that there is");
    TM_CHECK(!message->text.contains('\n') && text.contains(message->text), "one line of it");
  }
  if (const auto message = parse_ring_line(text)) {
    TM_CHECK(message->priority >= 0 && message->priority < 8 && message->since_boot_us >= 0, "a priority and a time");
    TM_CHECK(text.ends_with(message->text), "the end of it");
  }
  const std::string_view last = text.substr(0, text.find('\n'));
  TM_CHECK(text.ends_with(lines_behind(text, last).text), "what stands behind is the end");
  TM_CHECK(lines_behind(text, last).missed == false, "a line that is there is found");
  if (const auto incident = classify_kernel_message(text)) {
    for (const std::string_view part : {incident->task, incident->group, incident->limit_group})
      TM_CHECK(text.contains(part), "a part of it");
    TM_CHECK(!incident->pid || *incident->pid >= 0, "a process");
    TM_CHECK(!incident->anon_bytes || *incident->anon_bytes >= 0, "memory");
  }
  return 0;
}
