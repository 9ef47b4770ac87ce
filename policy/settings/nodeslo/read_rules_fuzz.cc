// Any text gives rules or leaves the last good ones, part by part, with a reason; the same text again changes nothing.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/protect/node_rules.h"
#include "policy/settings/nodeslo/read_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto first = policy::settings::next_node_rules({}, text);
  for (const auto& each : first.problems)
    TM_CHECK(!each.part.empty() && !each.why.empty(), "a problem says what it is");
  const auto again = policy::settings::next_node_rules(first.rules, text);
  TM_CHECK(again.rules == first.rules && again.problems == first.problems, "the same text says the same");
  TM_CHECK(
      first.problems.empty() || first.problems.front().part != "spec" || first.rules == policy::protect::NodeRules(),
      "what is no spec changes nothing");
  return 0;
}
