// Any text is a configuration or is refused with a reason; any annotation is merged or ignored.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/overcommit/strategy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = policy::parse_colocation_config(text);
  if (!config) {
    TM_CHECK(!config.error().error.message.empty(), "a refusal says what is wrong");
    return 0;
  }
  const auto node = policy::strategy_for(*config, {}, text);
  TM_CHECK(node.enabled == (config->cluster.enable && node.values.enable), "a node can only switch itself off");
  return 0;
}
