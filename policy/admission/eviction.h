// Whether a node's agent may evict a pod: offline work of its own node, and no other.
//
// RBAC ties the right to create evictions to no node, and an Eviction does not name the pod's: so the pod is looked up,
// and held against the node that the agent's token is bound to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace tidemark::policy {

enum class EvictionDenial : std::uint8_t {
  kNoNode,       // the token is bound to no node: nobody knows whose agent this is
  kNoUid,        // the request does not say which pod of that name is meant
  kUnreadable,   // the pod cannot be read
  kAnotherPod,   // the name is another pod's by now
  kAnotherNode,  // or no node at all
  kMirror,       // its kubelet runs it from a file: what is evicted is a shadow
  kOnline,
  kJobBudget,   // its job lost as many tasks within the hour as it may
  kPoolBudget,  // the same of its pool
  kTooMany,     // nobody looked: more evictions are asked about than are looked at
  kNotKnown,    // the pod could not be looked up in time, and may be the next time
};
std::string_view to_string(EvictionDenial);  // "AnotherNode", as Kubernetes writes such words

struct EvictionAsked {
  std::string_view node;  // of the token's claim; "" where it has none
  std::string_view uid;   // of the preconditions; "" where there is none
};

struct EvictionRefusal {
  EvictionDenial why = EvictionDenial::kNoNode;
  int http_code = 403;
  std::string found;   // "" where nothing is there
  std::string wanted;  // "" where the word says it all
  bool operator==(const EvictionRefusal&) const = default;
};

// What can be told without the pod; nullopt: it is to be looked up.
std::optional<EvictionRefusal> refuse_eviction(const EvictionAsked& asked);
// nullopt: it may be evicted. `pod` is the API server's object of that name. Offline is what a pod says of itself (the
// raw readers, contract 1.1 and 1.2): who says nothing is online work.
std::optional<EvictionRefusal> refuse_eviction(const EvictionAsked& asked, const Json& pod);

}  // namespace tidemark::policy
