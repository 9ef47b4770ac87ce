// Any bytes as a process's stat and environment: bounded values, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "linux/proc/marked.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto stat = linux::parse_process_stat(bytes)) {
    TM_CHECK(stat->session >= 0 && stat->use.start_ticks >= 0, "nothing below zero");
    TM_CHECK(stat->use.cpu_ticks >= 0 && stat->use.resident_pages >= 0, "nothing below zero");
  } else {
    TM_CHECK(stat.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
  }
  TM_CHECK(linux::variable_in(bytes, "CONTAINER_ID").size() <= bytes.size(), "a part of it");
  return 0;
}
