// The taint of a node that is marked as oversold (model/oversold.h), read and written. Shared by the manager and by
// `tidemark off`, which works with the manager dead.
//
// A patch has the whole list of taints, for that is how the API server takes it, so it holds only for the revision of
// the node that it was made of: who else taints the node meanwhile is not undone (409), and we look again. Other taints
// stay byte by byte as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/objects.h"

namespace tidemark::manager {

bool has_oversold_taint(const kube::Node& node);
bool has_oversold_mark(const kube::Node& node);  // `node` was decoded with fields that keep the annotation

// The merge patch on the node (not on its status) after which it carries our taint, or does not. nullopt: it is so
// already. `node_bytes`: the whole node as it was read.
Result<std::optional<std::string>> taint_patch(std::string_view node_bytes, bool wanted);

}  // namespace tidemark::manager
