// Any stored text is parsed or reported as unreadable; parsed text is written and parsed to the same value, and
// stepping can continue from it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "policy/settings/rollout/stored.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto request = policy::settings::decode_request(text)) {
    TM_CHECK(policy::settings::decode_request(policy::settings::encode_request(*request, "")).has_value(),
             "a request is read again");
  }
  policy::settings::decode_stored({{"state", text}, {"revision-1", text}, {"request", text}});
  auto state = policy::settings::decode_state(text);
  if (!state) return 0;
  const policy::settings::RolloutNode nodes[] = {{"n1", false, "default"}, {"n2", true, "canary"}};
  policy::settings::RolloutObservation seen;
  seen.source = "next";
  seen.nodes = nodes;
  seen.evictions.emplace();
  const auto step = policy::settings::step(*state, seen, {}, state->looked);
  TM_CHECK(!step.state.layers.empty(), "something is in force");
  TM_CHECK(!policy::settings::in_force(step.state, "n1", false).empty() || state->layers.front().revision.empty(),
           "on every node");
  return 0;
}
