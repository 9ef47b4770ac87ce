#include "kube/memory/crd.h"

#include <algorithm>
#include <set>

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

// Groups of built-in kinds are not for others.
void check_group(const Json& tree, const Registry& registry, Causes& causes) {
  const std::string_view group = tree.text_at("spec", "group");
  const auto& kinds = registry.kinds().all();
  if (std::any_of(kinds.begin(), kinds.end(),
                  [&](const KindPtr& kind) { return kind->group == group && !kind->custom; }))
    causes.push_back(forbidden_value("spec.group", cat("the group ", group, " is served by the API server itself")));
}

// A definition keeps what it was first established with.
void check_kept(const Json& tree, const Json& before, Causes& causes) {
  for (const char* path : {"spec.group", "spec.scope", "spec.names.plural", "spec.names.kind"}) {
    const Json* was = at_path(before, path);
    const Json* now = at_path(tree, path);
    if (was != nullptr && now != nullptr && *was != *now)
      causes.push_back(invalid_value(path, now->dump(), "field is immutable"));
  }
}

// What is stored in a version can be read only while the definition has it.
void check_stored_versions(const Json& tree, const Json& before, Causes& causes) {
  const Json* stored = before.at("status", "storedVersions");
  if (stored == nullptr || !stored->is_array()) return;
  std::size_t index = 0;
  for (const Json& name : stored->as_array()) {
    const auto& versions = tree.at("spec", "versions")->as_array();
    const std::string_view word = name.get_string().value_or("");
    if (std::none_of(versions.begin(), versions.end(), [&](const Json& row) { return row.text_at("name") == word; }))
      causes.push_back(invalid_value(
          cat("status.storedVersions[", index, "]"), name.dump(),
          cat("missing from spec.versions; ", word, " was previously a storage version, and must remain in ",
              "spec.versions until a storage migration ensures no data remains persisted in ", word, " and removes ",
              word, " from status.storedVersions")));
    ++index;
  }
}

struct Names {
  std::set<std::string, std::less<>> resources;
  std::set<std::string, std::less<>> kinds;
};

Names held_by(const std::vector<Json>& definitions) {
  Names out;
  for (const Json& definition : definitions) {
    const Json* names = definition.at("status", "acceptedNames");
    if (names == nullptr) continue;
    for (const char* member : {"plural", "singular"}) out.resources.emplace(names->text_at(member));
    for (const char* member : {"kind", "listKind"}) out.kinds.emplace(names->text_at(member));
    if (const Json* words = names->at("shortNames"); words != nullptr && words->is_array())
      for (const Json& word : words->as_array()) out.resources.emplace(word.get_string().value_or(""));
  }
  return out;
}

// Where it is set, its time stays as long as its status does.
void set_condition(Json& status, const char* type, bool holds, std::string_view reason, std::string_view message,
                   std::string_view now) {
  Json condition = Json::object({{"type", type},
                                 {"status", holds ? "True" : "False"},
                                 {"lastTransitionTime", now},
                                 {"reason", reason},
                                 {"message", message}});
  Json& list = status["conditions"];
  if (!list.is_array()) list = Json::array();
  for (Json& held : list.as_array()) {
    if (held.text_at("type") != type) continue;
    if (held.text_at("status") == condition.text_at("status"))
      condition["lastTransitionTime"] = std::string(held.text_at("lastTransitionTime"));
    held = std::move(condition);
    return;
  }
  list.as_array().push_back(std::move(condition));
}

}  // namespace

bool condition_holds(const Json& tree, std::string_view type) {
  const Json* conditions = tree.at("status", "conditions");
  return conditions != nullptr && conditions->is_array() &&
         std::any_of(conditions->as_array().begin(), conditions->as_array().end(), [&](const Json& condition) {
           return condition.text_at("type") == type && condition.text_at("status") == "True";
         });
}

void accept_names(Json& tree, const std::vector<Json>& others, std::string_view now) {
  const Names taken = held_by(others);
  const Json wanted = tree.at("spec", "names") == nullptr ? Json::object() : *tree.at("spec", "names");
  const Json* held = tree.at("status", "acceptedNames");
  const Json was = held == nullptr ? Json::object() : *held;
  Json names = was;
  std::string_view reason = "NoConflicts";
  std::string message = "no conflicts found";
  const auto in_use = [](std::string_view word) { return cat(quoted_json(word), " is already in use"); };
  const auto accept = [&](const char* member, const auto& others_have, std::string_view conflict) {
    const std::string word(wanted.text_at(member));
    if (word != was.text_at(member) && others_have.contains(word)) {
      reason = conflict;
      message = in_use(word);
    } else if (word.empty()) {
      names.as_object().erase(member);
    } else {
      names[member] = word;
    }
  };
  accept("plural", taken.resources, "PluralConflict");
  accept("singular", taken.resources, "SingularConflict");
  const auto words_of = [](const Json& list) {
    std::vector<std::string> words;
    if (list.at("shortNames") != nullptr && list.at("shortNames")->is_array())
      for (const Json& word : list.at("shortNames")->as_array()) words.emplace_back(word.get_string().value_or(""));
    return words;
  };
  const std::vector<std::string> ours = words_of(was);
  std::vector<std::string> conflicts;
  for (const std::string& word : words_of(wanted))
    if (std::find(ours.begin(), ours.end(), word) == ours.end() && taken.resources.contains(word))
      conflicts.push_back(in_use(word));
  if (!conflicts.empty()) {
    reason = "ShortNamesConflict";
    message = conflicts.size() == 1 ? conflicts.front() : cat("[", base::join(conflicts, ", "), "]");
  } else if (wanted.at("shortNames") != nullptr) {
    names["shortNames"] = Json(*wanted.at("shortNames"));
  } else {
    names.as_object().erase("shortNames");
  }
  accept("kind", taken.kinds, "KindConflict");
  accept("listKind", taken.kinds, "ListKindConflict");
  if (wanted.at("categories") != nullptr)
    names["categories"] = Json(*wanted.at("categories"));
  else
    names.as_object().erase("categories");
  for (const char* member : {"plural", "kind"})
    if (names.at(member) == nullptr) names[member] = "";

  const bool all = reason == "NoConflicts";
  const bool established = condition_holds(tree, "Established");
  Json& status = tree["status"];
  set_condition(status, "NamesAccepted", all, reason, message, now);
  if (!established && all)
    set_condition(status, "Established", true, "InitialNamesAccepted", "the initial names have been accepted", now);
  else if (!established)
    set_condition(status, "Established", false, "NotAccepted", "not all names are accepted", now);
  status["acceptedNames"] = std::move(names);
}

void prepare_crd(Json& tree, const Json* before, const Registry& registry, std::string_view now, Causes& causes) {
  complete_names(tree);
  const std::size_t found = causes.size();
  check_names(tree, causes);
  check_versions(tree, causes);
  if (before == nullptr) {
    if (causes.size() == found) check_group(tree, registry, causes);
  } else if (condition_holds(*before, "Established")) {
    check_kept(tree, *before, causes);
  }
  if (before != nullptr && causes.size() == found) check_stored_versions(tree, *before, causes);
  if (causes.size() != found) return;

  tree["status"] = before != nullptr && before->at("status") != nullptr ? *before->at("status") : Json::object();
  accept_names(tree, registry.definitions_beside(tree), now);
  Json& status = tree["status"];
  Json& stored = status["storedVersions"];
  if (!stored.is_array()) stored = Json::array();
  for (const Json& version : tree.at("spec", "versions")->as_array()) {
    const Json* flag = version.at("storage");
    if (flag == nullptr || !flag->get_bool().value_or(false)) continue;
    const Json name(version.text_at("name"));
    if (std::find(stored.as_array().begin(), stored.as_array().end(), name) == stored.as_array().end())
      stored.as_array().push_back(name);
  }
}

KindPtr kind_from_crd(const Json& tree) {
  auto kind = std::make_shared<Kind>();
  kind->custom = true;
  kind->group = tree.text_at("spec", "group");
  kind->plural = tree.text_at("spec", "names", "plural");
  kind->singular = tree.text_at("status", "acceptedNames", "singular");
  kind->name = tree.text_at("status", "acceptedNames", "kind");
  kind->list_name = tree.text_at("status", "acceptedNames", "listKind");
  kind->namespaced = tree.text_at("spec", "scope") == "Namespaced";
  kind->storage = kind->resource_text();
  const auto words = [&](const char* member, std::vector<std::string>& out) {
    const Json* list = tree.at("status", "acceptedNames", member);
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
