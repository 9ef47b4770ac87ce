#include "policy/protect/priority/pod_cpu_qos.h"

#include <cstdint>

#include "base/json.h"

namespace tidemark::policy::protect {

Result<CpuPriority> parse_pod_cpu_qos(std::string_view annotation) {
  bool enable = false;
  std::int64_t identity = static_cast<std::int64_t>(CpuPriority::kPlain);
  base::JsonReader json(annotation);
  json.object([&](std::string_view key) {
    if (key == "enable") {
      json.boolean(enable);
    } else if (key == "groupIdentity") {
      json.integer(identity);
      if (identity < static_cast<std::int64_t>(CpuPriority::kOffline) ||
          identity > static_cast<std::int64_t>(CpuPriority::kOnline)) {
        json.fail_here("wanted a number in -1..2");
      }
    } else {
      json.skip();
    }
  });
  TM_TRY_VOID(json.finish());
  return enable ? static_cast<CpuPriority>(identity) : CpuPriority::kPlain;
}

}  // namespace tidemark::policy::protect
