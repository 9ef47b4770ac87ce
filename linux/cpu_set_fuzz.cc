// Any text as a list of processors: refused, or read and written so that it reads back as the same set.
#include "linux/cpu_set.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tidemark::linux::CpuSet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto set = CpuSet::parse(text);
  if (!set) return 0;
  TM_CHECK(CpuSet::parse(set->text()) == *set, "the same set");
  int count = 0;
  for (int cpu = set->next(0); cpu >= 0; cpu = set->next(cpu + 1)) ++count;
  TM_CHECK(count == set->count(), "each once");
  return 0;
}
