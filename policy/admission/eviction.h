// Whether the agent of a node may evict a pod: only offline work of its own node.
//
// RBAC does not tie the right to create evictions to a node, and an Eviction does not name the node of the pod. So the
// pod is looked up, and its node is compared with the node that the agent's token is bound to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace tidemark::policy::admission {

enum class EvictionDenial : std::uint8_t {
  kNoNode,       // the token is bound to no node: the agent is unknown
  kNoUid,        // the request does not say which pod of that name is meant
  kUnreadable,   // the pod cannot be read
  kAnotherPod,   // another pod has the name now
  kAnotherNode,  // or no node at all
  kMirror,       // a static pod: the object is only a mirror
  kOnline,
  kJobBudget,   // its job reached its limit of evictions per hour
  kPoolBudget,  // its pool reached its limit of evictions per hour
  kTooMany,     // not checked: too many evictions are requested at once
  kNotKnown,    // the pod could not be looked up in time; a retry may succeed
};
std::string_view to_string(EvictionDenial);  // "AnotherNode", as Kubernetes writes such words

struct EvictionAsked {
  std::string_view node;  // from the claim of the token; "" if it has none
  std::string_view uid;   // from the preconditions; "" if unset
};

struct EvictionRefusal {
  EvictionDenial why = EvictionDenial::kNoNode;
  int http_code = 403;
  std::string found;   // "" if absent
  std::string wanted;  // "" if the reason is enough
  bool operator==(const EvictionRefusal&) const = default;
};

// Checks what can be decided without the pod. nullopt: look the pod up.
std::optional<EvictionRefusal> refuse_eviction(const EvictionAsked& asked);
// nullopt: it may be evicted. `pod` is the API server's object of that name. Offline is what the labels of the pod say
// (the raw readers, contract 1.1 and 1.2): a pod that says nothing is online work.
std::optional<EvictionRefusal> refuse_eviction(const EvictionAsked& asked, const Json& pod);

}  // namespace tidemark::policy::admission
