// Any bytes: every decoder answers a value or an error that names its kind. What decodes costs no more than a bounded
// factor of its bytes, and leaves nothing in the interner.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "kube/convert.h"
#include "kube/decode.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "kube/status.h"

namespace {

using namespace tidemark;
using namespace tidemark::kube;

// The densest input is a list of empty objects ("{}," is three bytes and makes one whole struct).
constexpr std::size_t kCostPerByte = 200;
constexpr std::size_t kCostFixed = 8192;

template <class T>
void check(const Result<T>& decoded, std::string_view kind, std::string_view bytes) {
  if (!decoded) {
    TM_CHECK(decoded.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
    TM_CHECK(decoded.error().message.starts_with(kind), "the error names what was decoded");
    return;
  }
  TM_CHECK(!decoded->meta.name.empty(), "an object has a name");
  TM_CHECK(decoded->bytes() <= kCostFixed + kCostPerByte * bytes.size(), "cost follows the input");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Interner interner;
  const MetaFields meta{KeyFilter::all(), KeyFilter::all()};
  {
    const auto pod = decode_pod(bytes, {meta, true, true}, interner);
    check(pod, "Pod", bytes);
    if (pod) to_pod_view(*pod);
    const auto node = decode_node(bytes, {meta, true}, interner);
    check(node, "Node", bytes);
    const auto metric = decode_node_metric(bytes, {meta, true, true}, interner);
    check(metric, "NodeMetric", bytes);
    const auto topology = decode_node_resource_topology(bytes, meta, interner);
    check(topology, "NodeResourceTopology", bytes);
    if (node && metric && pod && topology) {
      const Conversion made = to_node_snapshot(*node, {to_pod_view(*pod)}, &*metric, &*topology);
      TM_CHECK(made.snapshot.name == node->meta.name.view(), "the snapshot is of this node");
    }
    check(decode_config_map(bytes, meta, KeyFilter::all(), interner), "ConfigMap", bytes);
    check(decode_lease(bytes, meta, interner), "Lease", bytes);
    check(decode_event(bytes, meta, interner), "Event", bytes);
    const auto again = decode_pod(bytes, {meta, true, true}, interner);
    TM_CHECK(again.has_value() == pod.has_value(), "decoding depends on the bytes alone");
  }
  TM_CHECK(interner.size() == 0, "nothing keeps an interned text");

  const auto list = decode_list(bytes, [&](std::string_view item) -> Result<void> {
    TM_CHECK(item.data() >= bytes.data() && item.data() + item.size() <= bytes.data() + bytes.size(),
             "an item is a part of the page");
    return {};
  });
  TM_CHECK(list || list.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
  (void)read_list_meta(bytes);
  (void)read_identity(bytes);
  (void)parse_status(bytes);
  const Error error = status_error(500, bytes, bytes, base::WallTime{}, "fuzz");
  TM_CHECK(error.retry_after_ms >= 0, "a wait is never negative");
  return 0;
}
