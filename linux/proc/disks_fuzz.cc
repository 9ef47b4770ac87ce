// Any text as /proc/diskstats: refused whole, or one disk a line.
#include "linux/proc/disks.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  std::vector<Disk> out(3);
  const bool good = parse_disks({reinterpret_cast<const char*>(data), size}, out).has_value();
  TM_CHECK(good || out.empty(), "nothing half read");
  for (const Disk& one : out)
    TM_CHECK(!one.name.empty() && one.read_bytes >= 0 && one.write_bytes >= 0, "a disk and its counters");
  return 0;
}
