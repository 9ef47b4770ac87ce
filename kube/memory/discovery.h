// The documents from which clients learn what there is: API groups, resources, OpenAPI.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "kube/memory/kinds.h"

namespace tidemark::kube::memory {

Json api_versions();                                                            // GET /api
Json api_groups(const KindTable& kinds);                                        // GET /apis
std::optional<Json> api_group(const KindTable& kinds, std::string_view group);  // GET /apis/g
std::optional<Json> api_resources(const KindTable& kinds, std::string_view group, std::string_view version);
// apidiscovery.k8s.io/v2 APIGroupDiscoveryList, of the core group or of all others.
Json aggregated_discovery(const KindTable& kinds, bool core);

Json openapi_index(const KindTable& kinds);  // GET /openapi/v3
// What the stored CRDs say of their fields is taken from `schema_of`, called with the definition's name and a version.
std::optional<Json> openapi_document(const KindTable& kinds, std::string_view group, std::string_view version,
                                     const std::function<Json(const Kind&, std::string_view)>& schema_of);

}  // namespace tidemark::kube::memory
