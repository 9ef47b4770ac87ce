// Any text as a record of the kernel's log or as its message: refused or passed over, or told in parts of itself.
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
  if (const auto incident = classify_kernel_message(text)) {
    for (const std::string_view part : {incident->task, incident->group, incident->limit_group})
      TM_CHECK(text.contains(part), "a part of it");
    TM_CHECK(!incident->pid || *incident->pid >= 0, "a process");
    TM_CHECK(!incident->anon_bytes || *incident->anon_bytes >= 0, "memory");
  }
  return 0;
}
