// Any text is parsed as settings or rejected with a reason; every node is in one pool of it, and every calendar has a
// water line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/settings/config/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = policy::settings::parse_tidemark_config(text, policy::waterline::Zones());
  if (!config) {
    TM_CHECK(!config.error().empty() && !config.error().front().why.empty(), "a refusal says what is wrong");
    return 0;
  }
  TM_CHECK(config->rollout.nodes_per_minute > 0, "a roll-out ends");
  for (const auto& calendar : config->calendars) {
    const auto line = policy::waterline::water_line(calendar, 60, 65, {}, {std::chrono::hours(24 * 365 * 56)});
    TM_CHECK(line.cpu.sell >= 0 && line.cpu.sell <= line.cpu.hold, "nothing is sold above what holds");
  }
  policy::waterline::zone_names(text);
  const std::vector<tidemark::model::Label> labels{{"stage", "night"}};
  TM_CHECK(!policy::waterline::pool_of(*config, labels).name.empty(), "every node is in a pool with a name");
  return 0;
}
