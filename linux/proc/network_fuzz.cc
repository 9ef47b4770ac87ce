// Any text as /proc/net/dev: refused whole, or one interface a line.
#include "linux/proc/network.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  std::vector<NetworkInterface> out(3);
  const bool good = parse_network({reinterpret_cast<const char*>(data), size}, out).has_value();
  TM_CHECK(good || out.empty(), "nothing half read");
  for (const NetworkInterface& one : out)
    TM_CHECK(!one.name.empty() && one.received_bytes >= 0 && one.sent_drops >= 0, "an interface and its counters");
  return 0;
}
