// Any bytes as the evictions of the agent before: what is read is written again and read the same, and can be gone on
// from at any time.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/evict/stored.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = policy::decode_evictions(text, "b1");
  if (!read) return 0;
  TM_CHECK(policy::decode_evictions(policy::encode_evictions(*read, "b1"), "b1") == *read, "it is read again");
  const tidemark::base::MonotonicTime now{std::chrono::hours(1)};
  const policy::NodeSeen node;
  const policy::NodeRules rules;
  const auto step = policy::evict(policy::evict_state_after(*read, now), {node, {}, {}, 0, true}, rules, {}, now, {});
  TM_CHECK(step.plan.orders.empty(), "nobody is here, and nobody is ended");
  TM_CHECK(step.state.leaving.empty(), "who is not here has ended");
  return 0;
}
