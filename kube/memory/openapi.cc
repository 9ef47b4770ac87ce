// OpenAPI v3, as much of it as kubectl looks at: which kinds take ?fieldValidation, and the fields for `kubectl
// explain`.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "kube/memory/discovery.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

std::string component_name(const BuiltinType& type) {
  return cat("tidemark.v1.", type.name);
}

Json schema_of_field(const FieldType& type, std::set<const BuiltinType*>& wanted) {
  if (!type.shape.empty()) {
    Json inner = schema_of_field(type.element(), wanted);
    if (type.shape.front() == '[') return Json::object({{"type", "array"}, {"items", std::move(inner)}});
    return Json::object({{"type", "object"}, {"additionalProperties", std::move(inner)}});
  }
  switch (type.code) {
    case '@':
      wanted.insert(type.type);
      return Json::object(
          {{"allOf",
            Json::array({Json::object({{"$ref", cat("#/components/schemas/", component_name(*type.type))}})})}});
    case 'i':
      return Json::object({{"type", "integer"}, {"format", "int32"}});
    case 'l':
      return Json::object({{"type", "integer"}, {"format", "int64"}});
    case 'f':
      return Json::object({{"type", "number"}, {"format", "double"}});
    case 'b':
      return Json::object({{"type", "boolean"}});
    case 't':
    case 'u':
      return Json::object({{"type", "string"}, {"format", "date-time"}});
    case 'y':
      return Json::object({{"type", "string"}, {"format", "byte"}});
    case 'x':
      return Json::object({{"type", "string"}, {"format", "int-or-string"}});
    case 'o':
      return Json::object({{"type", "object"}});
    default:
      return Json::object({{"type", "string"}});
  }
}

Json schema_of_type(const BuiltinType& type, std::set<const BuiltinType*>& wanted) {
  Json properties = Json::object();
  Json::Array required;
  for (const BuiltinField& field : type.fields) {
    Json schema = schema_of_field(field.type, wanted);
    if (field.merge) {
      schema["x-kubernetes-patch-strategy"] = "merge";
      if (!field.merge_key.empty()) schema["x-kubernetes-patch-merge-key"] = field.merge_key;
    }
    properties[field.name] = std::move(schema);
    if (field.required) required.emplace_back(field.name);
  }
  Json schema = Json::object({{"type", "object"}, {"properties", std::move(properties)}});
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

Json gvk_of(const Kind& kind, std::string_view version) {
  return Json::object({{"group", kind.group}, {"version", version}, {"kind", kind.name}});
}

Json parameter(const char* name) {
  return Json::object(
      {{"name", name}, {"in", "query"}, {"schema", Json::object({{"type", "string"}, {"uniqueItems", true}})}});
}

Json path_item(const Kind& kind, std::string_view version, const std::string& schema) {
  const Json reference = Json::object({{"$ref", cat("#/components/schemas/", schema)}});
  const Json answer = Json::object(
      {{"200",
        Json::object({{"description", "OK"},
                      {"content", Json::object({{"application/json", Json::object({{"schema", reference}})}})}})}});
  Json content =
      Json::object({{"application/json-patch+json", Json::object()}, {"application/merge-patch+json", Json::object()}});
  if (!kind.custom) content["application/strategic-merge-patch+json"] = Json::object();
  Json patch = Json::object(
      {{"parameters", Json::array({parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")})},
       {"requestBody", Json::object({{"content", std::move(content)}})},
       {"responses", answer},
       {"x-kubernetes-action", "patch"},
       {"x-kubernetes-group-version-kind", gvk_of(kind, version)}});
  Json get = Json::object({{"responses", answer},
                           {"x-kubernetes-action", "get"},
                           {"x-kubernetes-group-version-kind", gvk_of(kind, version)}});
  return Json::object({{"get", std::move(get)}, {"patch", std::move(patch)}});
}

}  // namespace

Json openapi_index(const KindTable& kinds) {
  std::map<std::string, std::string> paths;
  for (const KindPtr& kind : kinds.all()) {
    for (const KindVersion& version : kind->versions) {
      if (!version.served) continue;
      const std::string path =
          kind->group.empty() ? cat("api/", version.name) : cat("apis/", kind->group, "/", version.name);
      paths[path] = cat("/openapi/v3/", path, "?hash=", kinds.generation());
    }
  }
  Json list = Json::object();
  for (const auto& [path, url] : paths) list[path] = Json::object({{"serverRelativeURL", url}});
  return Json::object({{"paths", std::move(list)}});
}

std::optional<Json> openapi_document(const KindTable& kinds, std::string_view group, std::string_view version,
                                     const std::function<Json(const Kind&, std::string_view)>& schema_of) {
  Json paths = Json::object();
  Json schemas = Json::object();
  std::set<const BuiltinType*> wanted;
  std::set<const BuiltinType*> done;
  for (const KindPtr& kind : kinds.all()) {
    const KindVersion* row = kind->version(version);
    if (kind->group != group || row == nullptr || !row->served) continue;
    std::string name;
    Json schema;
    if (kind->custom) {
      name = cat(kind->group, ".", version, ".", kind->name);
      schema = schema_of(*kind, version);
    } else {
      name = component_name(*kind->type);
      schema = schema_of_type(*kind->type, wanted);
      done.insert(kind->type);
    }
    schema["x-kubernetes-group-version-kind"] = Json::array({gvk_of(*kind, version)});
    schemas[name] = std::move(schema);
    if (!kind->readable) continue;
    const std::string root = group.empty() ? cat("/api/", version) : cat("/apis/", group, "/", version);
    paths[cat(root, kind->namespaced ? "/namespaces/{namespace}/" : "/", kind->plural, "/{name}")] =
        path_item(*kind, version, name);
  }
  if (schemas.as_object().empty()) return std::nullopt;
  for (;;) {
    std::vector<const BuiltinType*> open;
    std::set_difference(wanted.begin(), wanted.end(), done.begin(), done.end(), std::back_inserter(open));
    if (open.empty()) break;
    for (const BuiltinType* type : open) {
      done.insert(type);
      schemas[component_name(*type)] = schema_of_type(*type, wanted);
    }
  }
  return Json::object({{"openapi", "3.0.0"},
                       {"info", Json::object({{"title", "Kubernetes"}, {"version", "v1.34.0"}})},
                       {"paths", std::move(paths)},
                       {"components", Json::object({{"schemas", std::move(schemas)}})}});
}

}  // namespace tidemark::kube::memory
