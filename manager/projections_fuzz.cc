// Any bytes as each object that the manager holds in a cache: a projection that counts itself, or an error. Nothing
// stays in the interner, whether it has room or not.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kube/intern.h"
#include "manager/capacity/pod_projection.h"
#include "manager/evictions/pod_end.h"
#include "manager/specs/node_slo.h"
#include "manager/state/desired_store.h"
#include "manager/webhook/webhook_objects.h"

namespace {

using namespace tidemark;

template <class T>
void check(const Result<T>& decoded) {
  if (!decoded) {
    TM_CHECK(!decoded.error().message.empty(), "a refusal says what is wrong");
    return;
  }
  TM_CHECK(!decoded->meta.name.empty(), "an object has a name");
  TM_CHECK(decoded->bytes() >= sizeof(T), "it counts itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark::manager;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::size_t room : {kube::Interner::kBytesMax, std::size_t{0}}) {
    kube::Interner interner(room);
    const auto pod = decode_pod_projection(bytes, interner);
    check(pod);
    if (pod) (void)pod->view();
    check(decode_node_slo_projection(bytes, interner));
    const auto end = decode_pod_end(bytes, interner);
    TM_CHECK(end || !end.error().message.empty(), "a refusal says what is wrong");
    check(decode_state_map(bytes, interner));
    check(decode_namespace(bytes, interner));
    check(decode_pending_pod(bytes, interner));
    TM_CHECK(interner.size() <= (room == 0 ? 0 : size), "each text is in the bytes");
  }
  check(decode_profile(bytes));
  check(decode_priority_class(bytes));
  check(decode_secret(bytes));
  check(decode_webhook_configuration(bytes));
  return 0;
}
