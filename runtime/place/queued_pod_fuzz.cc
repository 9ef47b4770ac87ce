// Any bytes: a pod whose amounts are sane, or an error that names one. What decodes can be queued.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kube/intern.h"
#include "policy/single_node/local_queue.h"
#include "policy/single_node/local_queue_text.h"
#include "runtime/place/queued_pod.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  kube::Interner interner;
  const auto pod = runtime::decode_queued_pod(bytes, interner);
  if (!pod) {
    TM_CHECK(pod.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
    TM_CHECK(pod.error().message.starts_with("Pod"), "the error names what was decoded");
    return 0;
  }
  TM_CHECK(pod->bytes() >= sizeof(runtime::QueuedPod), "a projection counts itself");
  for (const policy::single_node::QueueAmount& each : pod->pod.requests)
    TM_CHECK(each.amount > 0, "what is not asked for is not here");
  policy::single_node::QueueNode node;
  node.name = "n1";
  node.allocatable = {{"cpu", 1000}, {"pods", 1}};
  node.labels = {{"disk", "ssd"}};
  node.taints = {{"k", "v", policy::single_node::QueueEffect::kNoExecute}};
  const policy::single_node::QueueWaiting one[] = {{&pod->pod, base::Duration(0)}};
  const policy::single_node::LocalQueuePlan plan = policy::single_node::local_queue({&node, {}, one, std::nullopt});
  TM_CHECK(plan.outcomes.size() == 1, "each has one outcome");
  if (plan.outcomes[0]) TM_CHECK(!policy::single_node::local_queue_text(*plan.outcomes[0]).empty(), "and a sentence");
  const auto again = runtime::decode_queued_pod(bytes, interner);
  TM_CHECK(again && !(runtime::matters_to_queue(&*pod, &*again)), "decoding depends on the bytes alone");
  return 0;
}
