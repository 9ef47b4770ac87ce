// Any bytes as a kubelet's configuration: refused, or thresholds that are amounts or shares.
#include "policy/explain/doctor/kubelet_configz.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::policy::explain;
  const auto found = parse_kubelet_configz({reinterpret_cast<const char*>(data), size});
  if (!found) return 0;
  for (const auto& of : {found->hard, found->soft}) {
    for (const auto& threshold :
         {of.memory_available, of.nodefs_available, of.nodefs_inodes, of.imagefs_available, of.imagefs_inodes}) {
      if (!threshold) continue;
      TM_CHECK(threshold->bytes >= 0 && threshold->milli_percent >= 0, "never negative");
      TM_CHECK(threshold->bytes == 0 || threshold->milli_percent == 0, "an amount or a share");
    }
  }
  return 0;
}
