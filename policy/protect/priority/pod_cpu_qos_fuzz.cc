// Any annotation is one of the four priorities, or rejected with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/protect/priority/pod_cpu_qos.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const auto read = policy::protect::parse_pod_cpu_qos({reinterpret_cast<const char*>(data), size});
  TM_CHECK(read.has_value() || !read.error().message.empty(), "a refusal says what is wrong");
  TM_CHECK(!read || (*read >= policy::protect::CpuPriority::kOffline && *read <= policy::protect::CpuPriority::kOnline),
           "-1 … 2");
  return 0;
}
