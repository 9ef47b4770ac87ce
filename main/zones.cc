#include "main/zones.h"

#include "base/text.h"
#include "kube/config.h"

namespace tidemark::main {

manager::ZonesOf zones_of_machine() {
  return [](std::string_view tidemark_config) {
    static const kube::Files files = kube::system_files();
    policy::waterline::Zones zones;
    for (const std::string& name : policy::waterline::zone_names(tidemark_config)) {
      const auto bytes = files.read(base::cat("/usr/share/zoneinfo/", name), model::TimeZone::kBytesMax);
      if (!bytes) continue;
      if (auto zone = model::TimeZone::parse(name, *bytes)) zones.add(std::move(*zone));
    }
    return zones;
  };
}

}  // namespace tidemark::main
