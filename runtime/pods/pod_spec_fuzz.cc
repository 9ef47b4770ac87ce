// Any object that the server lets in may come: none of them brings the node down.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/metrics.h"
#include "runtime/pods/pod_groups.h"
#include "runtime/pods/pod_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  static base::Registry metrics;
  kube::Interner interner(metrics, "fuzz");
  const auto pod = runtime::read_pod({reinterpret_cast<const char*>(data), size}, interner);
  if (!pod) return 0;
  (void)runtime::pod_limits(*pod);
  for (const runtime::RunContainer& each : pod->containers) (void)runtime::container_limits(each);
  return 0;
}
