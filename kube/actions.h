// Bodies of the two calls that are not patches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/client.h"

namespace tidemark::kube {

struct EvictOptions {
  std::optional<std::int64_t> grace_period_s{};  // not given: the pod's own
  std::string uid{};                             // only this incarnation; empty: whichever has the name
  bool dry_run = false;
  WriteNote note{};
  Status* refusal = nullptr;  // as of WriteOptions
};

// policy/v1 Eviction. The server tries by itself for ten seconds before it says kConflict to a uid that is gone: a
// shorter limit gets kDeadline instead. It answers 429 with the cause DisruptionBudget while a PodDisruptionBudget
// forbids it; that is not retried here, because how long to insist is a policy.
std::string eviction_body(std::string_view ns, std::string_view pod, const EvictOptions& options);
net::Task<Result<void>> evict_pod(Writer& writer, std::string ns, std::string pod, EvictOptions options,
                                  base::Duration limit);

// core/v1 Binding: the pod goes to the node. kConflict when it is bound already.
std::string binding_body(std::string_view ns, std::string_view pod, std::string_view uid, std::string_view node);
net::Task<Result<void>> bind_pod(Writer& writer, std::string ns, std::string pod, std::string uid, std::string node,
                                 base::Duration limit);

}  // namespace tidemark::kube
