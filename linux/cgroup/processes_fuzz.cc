// Any text as cgroup.procs: refused, or process numbers.
#include "linux/cgroup/processes.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<pid_t> out;
  if (!tidemark::linux::parse_processes(text, out)) return 0;
  for (const pid_t pid : out) TM_CHECK(pid > 0, "a process");
  TM_CHECK(out.size() <= size / 2 + 1, "one a line");
  return 0;
}
