// From an HTTP request to what is asked of which object.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/memory/api_error.h"
#include "kube/memory/kinds.h"
#include "kube/memory/registry.h"
#include "kube/memory/store.h"
#include "net/http.h"

namespace tidemark::kube::memory {

struct ResourcePath {
  std::string group;
  std::string version;
  std::string ns;
  std::string plural;
  std::string name;
  std::string subresource;
  bool watch = false;  // the old form: /api/v1/watch/…
};

// nullopt for a path that is not below a group's version.
std::optional<ResourcePath> parse_resource_path(std::string_view path);
// Null where no such kind is served, or not in such a place.
KindPtr kind_at(const KindTable& kinds, const ResourcePath& path);

struct ListRequest {
  Filter filter;
  bool watch = false;
  bool bookmarks = false;
  bool send_initial = false;
  std::size_t limit = 0;
  std::string start_key;       // of a continued list: keys before it were sent
  std::int64_t revision = -1;  // −1: not given
  bool exact = false;          // resourceVersionMatch=Exact, pages from a revision on, or a continued list
  bool continued = false;
  std::optional<std::int64_t> timeout_s;
};

// 400 or 422 with the name of what is wrong or unknown.
Answer<void> check_query(const net::Target& target);
Answer<ListRequest> parse_list_request(const Kind& kind, const ResourcePath& path, const net::Target& target);
// `options` is the kind that a refusal names: CreateOptions, UpdateOptions, PatchOptions.
Answer<WriteRequest> parse_write_request(const net::Target& target, std::string_view options);
Answer<DeleteRequest> parse_delete_request(const net::Target& target, const Json& body);
// The public form (v, rv, start) of the API machinery. A negative revision: the present, inconsistent with earlier
// pages.
std::string make_continue_token(std::int64_t revision, const Filter& filter, std::string_view start_key);
// Paths of members that a JSON text has twice: Json keeps the last of them.
std::vector<std::string> duplicate_members(std::string_view json);
// JSON, YAML or protobuf by the content type; others are 415 with their name.
Answer<Json> parse_body(std::string_view content_type, const std::string& body);

}  // namespace tidemark::kube::memory
