// Calls of the API server that the ways of submission to Kubernetes share.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "gateway/side_client.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::gateway {

kube::WriteOptions in(const std::string& ns);

// The refusals of an API server. Its other errors leave the outcome open. A quota, an admission plugin and missing
// permissions are 403; a creation in a missing namespace is 404.
Submission refused_or_unknown(const Error& error);

template <class T>
bool done_or_gone(const Result<T>& result) {
  return result || result.error().kind == ErrorKind::kNotFound;
}

// The names of the objects with these labels.
net::Task<Result<std::vector<std::string>>> names_of_objects(kube::Client& client, kube::Resource resource,
                                                             std::string ns, std::string selector);

// Removes our finalizer. The same patch carries `spec`, fields of the object's spec, if it is not null.
net::Task<Result<void>> remove_finalizer(kube::Client& client, kube::Resource resource, std::string ns,
                                         std::string name, Json spec = Json());

}  // namespace tidemark::gateway
