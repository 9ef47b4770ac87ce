#include "kube/resource.h"

#include "net/http.h"

namespace tidemark::kube {

std::string resource_path(const Resource& resource, std::string_view ns, std::string_view name,
                          std::string_view subresource) {
  std::string path;
  if (resource.group.empty()) {
    path = base::cat("/api/", resource.version);
  } else {
    path = base::cat("/apis/", resource.group, "/", resource.version);
  }
  if (resource.namespaced && !ns.empty()) path += base::cat("/namespaces/", net::percent_encode(ns));
  path += base::cat("/", resource.plural);
  if (!name.empty()) path += base::cat("/", net::percent_encode(name));
  if (!subresource.empty()) path += base::cat("/", subresource);
  return path;
}

}  // namespace tidemark::kube
