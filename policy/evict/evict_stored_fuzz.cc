// Any bytes as the evictions of the previous agent: what is read is written and read again unchanged, and a step from
// it works at any time.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/evict/stored.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace policy = tidemark::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = policy::evict::decode_evictions(text, "b1");
  if (!read) return 0;
  TM_CHECK(policy::evict::decode_evictions(policy::evict::encode_evictions(*read, "b1"), "b1") == *read,
           "it is read again");
  const tidemark::base::MonotonicTime now{std::chrono::hours(1)};
  const policy::evict::NodeSeen node;
  const policy::protect::NodeRules rules;
  const auto step =
      policy::evict::evict(policy::evict::evict_state_after(*read, now), {node, {}, {}, 0, true}, rules, {}, now, {});
  TM_CHECK(step.plan.orders.empty(), "there is no task, and none is ended");
  TM_CHECK(step.state.leaving.empty(), "a task that is not listed has ended");
  return 0;
}
