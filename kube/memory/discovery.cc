#include "kube/memory/discovery.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

Json words(const std::vector<std::string>& list) {
  Json::Array out;
  for (const std::string& word : list) out.emplace_back(word);
  return out;
}

Json verbs_of(const Kind& kind) {
  if (!kind.readable) return Json::array({"create"});
  if (kind.custom)  // the order that the real server has for them
    return Json::array({"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"});
  if (kind.name == "Namespace") return Json::array({"create", "delete", "get", "list", "patch", "update", "watch"});
  return Json::array({"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"});
}

struct Sub {
  std::string name;
  std::string group;
  std::string version;
  std::string kind;
  Json verbs;
};

std::vector<Sub> subresources_of(const Kind& kind, const KindVersion& version) {
  std::vector<Sub> out;
  if (version.status) out.push_back({"status", "", "", kind.name, Json::array({"get", "patch", "update"})});
  for (const std::string& name : kind.subresources) {
    if (name == "binding")
      out.push_back({name, "", "v1", "Binding", Json::array({"create"})});
    else if (name == "eviction")
      out.push_back({name, "policy", "v1", "Eviction", Json::array({"create"})});
    else if (name == "finalize")
      out.push_back({name, "", "v1", "Namespace", Json::array({"update"})});
  }
  return out;
}

// Stable before beta before alpha, the newest first; what is no such word comes last: {stage, major, minor}.
std::tuple<int, std::int64_t, std::int64_t> maturity(std::string_view version) {
  if (!version.starts_with('v')) return {0, 0, 0};
  version.remove_prefix(1);
  const std::size_t digits = std::min(version.find_first_not_of("0123456789"), version.size());
  const auto major = base::parse_int(version.substr(0, digits));
  std::string_view rest = version.substr(digits);
  if (!major) return {0, 0, 0};
  if (rest.empty()) return {3, *major, 0};
  const bool beta = rest.starts_with("beta");
  if (!beta && !rest.starts_with("alpha")) return {0, 0, 0};
  rest.remove_prefix(beta ? 4 : 5);
  const auto minor = base::parse_int(rest);
  return {minor ? (beta ? 2 : 1) : 0, *major, minor.value_or(0)};
}

// Groups other than core with their versions, in the order of the table.
std::vector<std::pair<std::string, std::vector<std::string>>> groups_of(const KindTable& kinds) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const KindPtr& kind : kinds.all()) {
    if (kind->group.empty()) continue;
    auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == kind->group; });
    if (at == groups.end()) at = groups.insert(groups.end(), {kind->group, {}});
    for (const KindVersion& version : kind->versions)
      if (version.served && std::find(at->second.begin(), at->second.end(), version.name) == at->second.end())
        at->second.push_back(version.name);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.empty(); });
  // The first version is the one that clients prefer.
  for (auto& [group, versions] : groups)
    std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
      return maturity(a) != maturity(b) ? maturity(a) > maturity(b) : a < b;
    });
  return groups;
}

Json group_entry(const std::string& group, const std::vector<std::string>& versions) {
  Json::Array list;
  for (const std::string& version : versions)
    list.push_back(Json::object({{"groupVersion", cat(group, "/", version)}, {"version", version}}));
  const Json preferred = list.front();
  return Json::object({{"name", group}, {"versions", std::move(list)}, {"preferredVersion", preferred}});
}

}  // namespace

Json api_versions() {
  return Json::object(
      {{"kind", "APIVersions"}, {"versions", Json::array({"v1"})}, {"serverAddressByClientCIDRs", Json::array()}});
}

Json api_groups(const KindTable& kinds) {
  Json::Array list;
  for (const auto& [group, versions] : groups_of(kinds)) list.push_back(group_entry(group, versions));
  return Json::object({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}});
}

std::optional<Json> api_group(const KindTable& kinds, std::string_view group) {
  for (const auto& [name, versions] : groups_of(kinds)) {
    if (name != group) continue;
    Json entry = Json::object({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
    for (const auto& [key, value] : group_entry(name, versions).as_object()) entry[key] = value;
    return entry;
  }
  return std::nullopt;
}

std::optional<Json> api_resources(const KindTable& kinds, std::string_view group, std::string_view version) {
  Json::Array list;
  for (const KindPtr& kind : kinds.all()) {
    const KindVersion* row = kind->version(version);
    if (kind->group != group || row == nullptr || !row->served) continue;
    Json entry = Json::object({{"name", kind->plural},
                               {"singularName", kind->singular},
                               {"namespaced", kind->namespaced},
                               {"kind", kind->name},
                               {"verbs", verbs_of(*kind)}});
    if (!kind->short_names.empty()) entry["shortNames"] = words(kind->short_names);
    if (!kind->categories.empty()) entry["categories"] = words(kind->categories);
    list.push_back(std::move(entry));
    for (const Sub& sub : subresources_of(*kind, *row)) {
      Json line = Json::object(
          {{"name", cat(kind->plural, "/", sub.name)}, {"singularName", ""}, {"namespaced", kind->namespaced}});
      if (!sub.group.empty()) line["group"] = sub.group;
      if (!sub.version.empty()) line["version"] = sub.version;
      line["kind"] = sub.kind;
      line["verbs"] = sub.verbs;
      list.push_back(std::move(line));
    }
  }
  if (list.empty()) return std::nullopt;
  return Json::object({{"kind", "APIResourceList"},
                       {"apiVersion", "v1"},
                       {"groupVersion", group.empty() ? std::string(version) : cat(group, "/", version)},
                       {"resources", std::move(list)}});
}

Json aggregated_discovery(const KindTable& kinds, bool core) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  if (core)
    groups.push_back({"", {"v1"}});
  else
    groups = groups_of(kinds);
  Json::Array items;
  for (const auto& [group, versions] : groups) {
    Json::Array version_list;
    for (const std::string& version : versions) {
      Json::Array resources;
      for (const KindPtr& kind : kinds.all()) {
        const KindVersion* row = kind->version(version);
        if (kind->group != group || row == nullptr || !row->served) continue;
        Json entry = Json::object(
            {{"resource", kind->plural},
             {"responseKind", Json::object({{"group", group}, {"version", version}, {"kind", kind->name}})},
             {"scope", kind->namespaced ? "Namespaced" : "Cluster"},
             {"singularResource", kind->singular},
             {"verbs", verbs_of(*kind)}});
        if (!kind->short_names.empty()) entry["shortNames"] = words(kind->short_names);
        if (!kind->categories.empty()) entry["categories"] = words(kind->categories);
        Json::Array subs;
        for (const Sub& sub : subresources_of(*kind, *row))
          subs.push_back(
              Json::object({{"subresource", sub.name},
                            {"responseKind", Json::object({{"group", sub.version.empty() ? group : sub.group},
                                                           {"version", sub.version.empty() ? version : sub.version},
                                                           {"kind", sub.kind}})},
                            {"verbs", sub.verbs}}));
        if (!subs.empty()) entry["subresources"] = std::move(subs);
        resources.push_back(std::move(entry));
      }
      version_list.push_back(
          Json::object({{"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}}));
    }
    Json metadata = Json::object({{"creationTimestamp", nullptr}});
    if (!group.empty()) metadata["name"] = group;
    items.push_back(Json::object({{"metadata", std::move(metadata)}, {"versions", std::move(version_list)}}));
  }
  return Json::object({{"kind", "APIGroupDiscoveryList"},
                       {"apiVersion", "apidiscovery.k8s.io/v2"},
                       {"metadata", Json::object()},
                       {"items", std::move(items)}});
}

}  // namespace tidemark::kube::memory
