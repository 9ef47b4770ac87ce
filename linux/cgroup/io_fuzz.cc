// Any text as io.stat or blkio.throttle.*: refused, or devices with numbers that are not negative.
#include "linux/cgroup/io.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<DeviceIo> out;
  const auto sane = [&] {
    for (const DeviceIo& one : out) {
      TM_CHECK(one.major >= 0 && one.minor >= 0 && one.read_bytes >= 0 && one.write_bytes >= 0,
               "numbers that are there");
    }
  };
  if (parse_io_v2(text, out)) sane();
  if (parse_io_bytes_v1(text, out)) {
    sane();
    (void)parse_io_counts_v1(text, out);
    sane();
  }
  return 0;
}
