// Any text as the name of a folder or a pod's uid: the path of a recognized pod leads back to it.
#include "linux/kubepods.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::linux;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const CgroupDriver driver : {CgroupDriver::kCgroupfs, CgroupDriver::kSystemd}) {
    const Kubepods layout(driver, "/some-root");
    for (const KubeQos qos : kKubeQosLevels) {
      if (const auto path = layout.pod_path(qos, text)) {
        const std::string folder = path->substr(path->rfind('/') + 1);
        const auto uid = layout.pod_uid(qos, folder);
        TM_CHECK(uid && (*uid == text || driver == CgroupDriver::kSystemd),
                 "the same pod");  // systemd: "_" and "-" are one
      }
      if (const auto uid = layout.pod_uid(qos, text)) {
        TM_CHECK(layout.pod_path(qos, *uid).has_value() || uid->starts_with('-'), "a uid has a path");
      }
    }
    const auto id = container_id(driver, text);
    TM_CHECK(!id || (!id->empty() && text.contains(*id) && !id->contains('/')), "a part of the name");
  }
  (void)Kubepods(CgroupDriver::kSystemd, text);
  return 0;
}
