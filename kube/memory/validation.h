// What an object must fulfil besides the types of its fields. Each check adds its findings to a list; an empty list is
// good.
//
// Covered: metadata of every kind; of the built-in kinds what clients stumble over: names, resource amounts, immutable
// fields, containers, ports, taints, lease times. Not every rule that a real API server has.
#pragma once

#include <string_view>
#include <vector>

#include "base/json.h"
#include "kube/memory/api_error.h"
#include "kube/memory/kinds.h"

namespace tidemark::kube::memory {

inline constexpr std::size_t kAnnotationsBytesMax = 256 * 1024;  // keys and values together
inline constexpr std::size_t kDataBytesMax = 1024 * 1024;        // of a ConfigMap or Secret
inline constexpr std::size_t kNameGeneratedMax = 63 - 5;         // of generateName, before its suffix

using Causes = std::vector<Cause>;

void validate_meta(const Json& tree, const Kind& kind, Causes& causes);
void validate_meta_update(const Json& before, const Json& after, Causes& causes);
// Built-in kinds; `before` is null on create. `subresource` is "" or "status" or the like.
void validate_builtin(const Json& tree, const Json* before, const Kind& kind, std::string_view subresource,
                      Causes& causes);

}  // namespace tidemark::kube::memory
