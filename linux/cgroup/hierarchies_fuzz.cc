// Any text as /proc/self/mountinfo: results are beneath the root, and each controller is in one hierarchy.
#include "linux/cgroup/hierarchies.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view root : {"/", "/sys/fs/cgroup"}) {
    const auto found = parse_mounts(root, text);
    TM_CHECK(found.size() <= kHierarchiesMax, "no more than there are controllers");
    Controllers seen;
    for (const Hierarchy& one : found) {
      TM_CHECK(one.path.starts_with(root), "beneath the root");
      TM_CHECK(one.controllers.any() && (one.controllers & seen).none(), "each controller once");
      seen |= one.controllers;
    }
  }
  return 0;
}
