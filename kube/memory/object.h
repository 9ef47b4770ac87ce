// A stored object: its canonical bytes and the few fields that the server itself looks at. Immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "kube/memory/kinds.h"
#include "kube/memory/selector.h"
#include "net/http.h"

namespace tidemark::kube::memory {

struct Object {
  std::string ns;
  std::string name;
  std::string uid;
  std::int64_t revision = 0;
  net::Buffer bytes;  // JSON of the storage version
  LabelList labels;
  std::vector<std::string> fields;  // values of the kind's SelectField rows, in their order
  std::vector<std::string> owners;  // uids of metadata.ownerReferences
  bool terminating = false;         // has a deletionTimestamp
  std::size_t cost() const;         // bytes it holds, about

  Json json() const;  // the parsed bytes
};

using ObjectPtr = std::shared_ptr<const Object>;

// The place of an object in its kind: "ns/name", or "name" for cluster-scoped ones. Sorted as etcd sorts its keys.
std::string object_key(std::string_view ns, std::string_view name);

// `tree` is complete: apiVersion, kind, metadata with resourceVersion.
ObjectPtr make_object(const Kind& kind, const Json& tree);

// A dotted path of members; null where it ends early.
const Json* at_path(const Json& value, std::string_view path);

// Metadata helpers. `meta` makes metadata where there is none.
Json& meta(Json& tree);
std::string_view meta_text(const Json& tree, std::string_view member);
std::vector<std::string> finalizers(const Json& tree);
// Removes the members of an object that are empty where Go would omit them: labels, annotations, finalizers, owners.
void drop_empty_meta(Json& tree);
void set_revision(Json& tree, std::int64_t revision);

// What a kind whose version is not the stored one shows and takes: apiVersion, kind, renamed members.
void to_version(const Kind& kind, std::string_view version, Json& tree);
void to_storage(const Kind& kind, Json& tree);

}  // namespace tidemark::kube::memory
