// Any bytes give a bounded list or an error. A named group is below the root and never leads up.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/tasks/host_applications.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto said = agent::read_host_applications(bytes);
  if (!said) {
    TM_CHECK(said.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
    return 0;
  }
  TM_CHECK(said->size() <= agent::kHostApplicationsMax, "a bounded list");
  const linux::Kubepods kubepods(linux::CgroupDriver::kSystemd);
  for (const auto& each : *said) {
    const auto path = agent::group_of(each, &kubepods);
    if (!path) continue;
    TM_CHECK(path->has_value() && !(*path)->empty(), "somewhere below the root");
    TM_CHECK(!("/" + **path + "/").contains("/../"), "and never up");
  }
  return 0;
}
