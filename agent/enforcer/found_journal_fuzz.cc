// Any bytes give a bounded result or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/enforcer/found_journal.h"

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::agent;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto reading = parse_found(text, "b");
  if (!reading) return 0;
  TM_CHECK(reading->files.size() <= reading->lines, "a file has a line");
  for (const auto& [id, file] : reading->files) {
    TM_CHECK(id >= 1 && id <= reading->last_id, "numbers begin at one");
    TM_CHECK(file.written.size() <= kFoundValuesKept, "only the newest values are kept");
  }
  return 0;
}
