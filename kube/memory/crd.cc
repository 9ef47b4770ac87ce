#include "kube/memory/crd.h"

#include <algorithm>

#include "base/text.h"
#include "kube/memory/names.h"
#include "kube/memory/object.h"
#include "kube/memory/registry.h"
#include "kube/memory/schema.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

std::string quoted_json(std::string_view text) {
  return Json(text).dump();
}

void complete_names(Json& tree) {
  Json& names = tree["spec"]["names"];
  if (!names.is_object()) return;
  const std::string kind(names.text_at("kind"));
  if (names.text_at("singular").empty()) names["singular"] = base::lower(kind);
  if (names.text_at("listKind").empty()) names["listKind"] = kind + "List";
}

void check_names(const Json& tree, Causes& causes) {
  const std::string group(tree.text_at("spec", "group"));
  const std::string plural(tree.text_at("spec", "names", "plural"));
  if (group.empty())
    causes.push_back(required_value("spec.group"));
  else if (const std::string why = dns_subdomain_error(group); !why.empty())
    causes.push_back(invalid_value("spec.group", quoted_json(group), why));
  else if (group.find('.') == std::string::npos)
    causes.push_back(invalid_value("spec.group", quoted_json(group), "should be a domain with at least one dot"));
  if (plural.empty())
    causes.push_back(required_value("spec.names.plural"));
  else if (const std::string why = dns_1035_label_error(plural); !why.empty())
    causes.push_back(invalid_value("spec.names.plural", quoted_json(plural), why));
  if (tree.text_at("spec", "names", "kind").empty()) causes.push_back(required_value("spec.names.kind"));
  const std::string wanted = cat(plural, ".", group);
  if (meta_text(tree, "name") != wanted)
    causes.push_back(invalid_value("metadata.name", quoted_json(meta_text(tree, "name")),
                                   "must be spec.names.plural+\".\"+spec.group"));
  const std::string scope(tree.text_at("spec", "scope"));
  if (scope.empty())
    causes.push_back(required_value("spec.scope"));
  else if (scope != "Cluster" && scope != "Namespaced")
    causes.push_back(unsupported_value("spec.scope", quoted_json(scope), {"Cluster", "Namespaced"}));
  if (const std::string_view strategy = tree.text_at("spec", "conversion", "strategy");
      strategy != "None" && !strategy.empty())
    causes.push_back({"FieldValueNotSupported",
                      cat("Unsupported value: ", quoted_json(strategy),
                          ": conversion webhooks are not supported by this API server"),
                      "spec.conversion.strategy"});
  if (const Json* preserve = tree.at("spec", "preserveUnknownFields");
      preserve != nullptr && preserve->get_bool().value_or(false))
    causes.push_back(invalid_value(
        "spec.preserveUnknownFields", "true",
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"));
}

void check_versions(const Json& tree, Causes& causes) {
  const Json* versions = tree.at("spec", "versions");
  if (versions == nullptr || !versions->is_array() || versions->as_array().empty()) {
    causes.push_back(required_value("spec.versions", "must have at least one version"));
    return;
  }
  int storages = 0;
  std::vector<std::string> seen;
  // The real server keeps a schema that all versions share in one place, and names it there.
  const Json* first = versions->as_array().front().at("schema", "openAPIV3Schema");
  const bool shared = first != nullptr &&
                      std::all_of(versions->as_array().begin(), versions->as_array().end(), [&](const Json& version) {
                        const Json* schema = version.at("schema", "openAPIV3Schema");
                        return schema != nullptr && *schema == *first;
                      });
  if (shared) Schema::compile(*first, "spec.validation.openAPIV3Schema", causes);
  std::size_t index = 0;
  for (const Json& version : versions->as_array()) {
    const std::string at = cat("spec.versions[", index++, "]");
    const std::string name(version.text_at("name"));
    if (const std::string why = dns_1035_label_error(name); !why.empty())
      causes.push_back(invalid_value(at + ".name", quoted_json(name), why));
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      causes.push_back(duplicate_value(at + ".name", quoted_json(name)));
    seen.push_back(name);
    if (const Json* flag = version.at("storage"); flag != nullptr && flag->get_bool().value_or(false)) ++storages;
    const Json* schema = version.at("schema", "openAPIV3Schema");
    if (schema == nullptr)
      causes.push_back(required_value(at + ".schema.openAPIV3Schema"));
    else if (!shared)
      Schema::compile(*schema, at + ".schema.openAPIV3Schema", causes);
  }
  if (storages != 1)
    causes.push_back(invalid_value("spec.versions", "[]", "must have exactly one version marked as storage version"));
}

void check_conflicts(const Json& tree, const Registry& registry, Causes& causes) {
  const std::string_view group = tree.text_at("spec", "group");
  for (const KindPtr& kind : registry.kinds().all()) {
    if (kind->group != group) continue;
    if (!kind->custom)
      causes.push_back(forbidden_value("spec.group", cat("the group ", group, " is served by the API server itself")));
    if (kind->custom && kind->plural != tree.text_at("spec", "names", "plural") &&
        kind->name == tree.text_at("spec", "names", "kind"))
      causes.push_back(invalid_value("spec.names.kind", quoted_json(kind->name),
                                     cat("is already in use by ", kind->resource_text())));
    if (!kind->custom) return;
  }
}

}  // namespace

void prepare_crd(Json& tree, const Json* before, const Registry& registry, Causes& causes) {
  complete_names(tree);
  const std::size_t found = causes.size();
  check_names(tree, causes);
  check_versions(tree, causes);
  if (before != nullptr) {
    for (const char* path : {"spec.group", "spec.scope", "spec.names.plural", "spec.names.kind"}) {
      const Json* was = at_path(*before, path);
      const Json* now = at_path(tree, path);
      if (was != nullptr && now != nullptr && *was != *now)
        causes.push_back(invalid_value(path, now->dump(), "field is immutable"));
    }
  } else if (causes.size() == found) {
    check_conflicts(tree, registry, causes);
  }
  if (causes.size() != found) return;

  const std::string now(meta_text(tree, "creationTimestamp"));
  Json status = before != nullptr && before->at("status") != nullptr ? *before->at("status") : Json::object();
  if (status.at("conditions") == nullptr) {
    status["conditions"] = Json::array({Json::object({{"type", "NamesAccepted"},
                                                      {"status", "True"},
                                                      {"lastTransitionTime", now},
                                                      {"reason", "NoConflicts"},
                                                      {"message", "no conflicts found"}}),
                                        Json::object({{"type", "Established"},
                                                      {"status", "True"},
                                                      {"lastTransitionTime", now},
                                                      {"reason", "InitialNamesAccepted"},
                                                      {"message", "the initial names have been accepted"}})});
  }
  status["acceptedNames"] = Json(*tree.at("spec", "names"));
  Json& stored = status["storedVersions"];
  if (!stored.is_array()) stored = Json::array();
  for (const Json& version : tree.at("spec", "versions")->as_array()) {
    const Json* flag = version.at("storage");
    if (flag == nullptr || !flag->get_bool().value_or(false)) continue;
    const Json name(version.text_at("name"));
    if (std::find(stored.as_array().begin(), stored.as_array().end(), name) == stored.as_array().end())
      stored.as_array().push_back(name);
  }
  tree["status"] = std::move(status);
}

KindPtr kind_from_crd(const Json& tree) {
  auto kind = std::make_shared<Kind>();
  kind->custom = true;
  kind->group = tree.text_at("spec", "group");
  kind->plural = tree.text_at("spec", "names", "plural");
  kind->singular = tree.text_at("spec", "names", "singular");
  kind->name = tree.text_at("spec", "names", "kind");
  kind->list_name = tree.text_at("spec", "names", "listKind");
  kind->namespaced = tree.text_at("spec", "scope") == "Namespaced";
  kind->storage = kind->resource_text();
  const auto words = [&](const char* member, std::vector<std::string>& out) {
    const Json* list = tree.at("spec", "names", member);
    if (list == nullptr || !list->is_array()) return;
    for (const Json& word : list->as_array()) out.emplace_back(word.get_string().value_or(""));
  };
  words("shortNames", kind->short_names);
  words("categories", kind->categories);
  const Json* versions = tree.at("spec", "versions");
  if (versions == nullptr || !versions->is_array()) return nullptr;
  for (const Json& row : versions->as_array()) {
    KindVersion version;
    version.name = row.text_at("name");
    version.served = row.at("served") != nullptr && row.at("served")->get_bool().value_or(false);
    version.status = row.at("subresources", "status") != nullptr;
    version.scale = row.at("subresources", "scale") != nullptr;
    if (const Json* schema = row.at("schema", "openAPIV3Schema")) {
      Causes ignored;
      version.schema = Schema::compile(*schema, "", ignored);
    }
    version.columns.push_back({"Name", "@name", 0, "string", "name", ""});
    const Json* columns = row.at("additionalPrinterColumns");
    if (columns != nullptr && columns->is_array()) {
      for (const Json& column : columns->as_array()) {
        const Json* priority = column.at("priority");
        version.columns.push_back({std::string(column.text_at("name")), std::string(column.text_at("jsonPath")),
                                   static_cast<int>(priority == nullptr ? 0 : priority->get_int().value_or(0)),
                                   std::string(column.text_at("type")), std::string(column.text_at("format")),
                                   std::string(column.text_at("description"))});
      }
    } else {
      version.columns.push_back({"Age", "@age", 0, "date", "", ""});
    }
    if (const Json* fields = row.at("selectableFields"); fields != nullptr && fields->is_array()) {
      for (const Json& field : fields->as_array()) {
        std::string_view path = field.text_at("jsonPath");
        if (path.starts_with('.')) path.remove_prefix(1);
        const bool known =
            std::any_of(kind->fields.begin(), kind->fields.end(), [&](const SelectField& f) { return f.path == path; });
        if (!known) kind->fields.push_back({std::string(path), std::string(path)});
      }
    }
    if (const Json* flag = row.at("storage"); flag != nullptr && flag->get_bool().value_or(false))
      kind->storage_version = version.name;
    kind->versions.push_back(std::move(version));
  }
  return kind;
}

}  // namespace tidemark::kube::memory
