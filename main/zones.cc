#include "main/zones.h"

#include "base/text.h"
#include "kube/config.h"

namespace tidemark::main {

manager::ZonesOf zones_of_machine() {
  return [](std::string_view tidemark_config) {
    static const kube::Files files = kube::system_files();
    policy::Zones zones;
    for (const std::string& name : policy::zone_names(tidemark_config)) {
      const auto bytes = files.read(base::cat("/usr/share/zoneinfo/", name), policy::TimeZone::kBytesMax);
      if (!bytes) continue;
      if (auto zone = policy::TimeZone::parse(name, *bytes)) zones.add(std::move(*zone));
    }
    return zones;
  };
}

}  // namespace tidemark::main
