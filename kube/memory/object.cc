#include "kube/memory/object.h"

#include "base/check.h"
#include "base/text.h"

namespace tidemark::kube::memory {

namespace {

constexpr std::size_t kObjectOverhead = 400;  // bytes of the struct and its small strings

std::string text_of(const Json* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? value->as_string() : value->dump();
}

}  // namespace

std::size_t Object::cost() const {
  std::size_t bytes_held = kObjectOverhead + bytes->size();
  for (const auto& [key, value] : labels) bytes_held += key.size() + value.size();
  return bytes_held;
}

Json Object::json() const {
  auto parsed = Json::parse(*bytes);
  TM_CHECK(parsed.has_value(), "stored bytes were written by us");
  return std::move(*parsed);
}

std::string object_key(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : base::cat(ns, "/", name);
}

const Json* at_path(const Json& value, std::string_view path) {
  const Json* at = &value;
  while (!path.empty() && at != nullptr) {
    const std::size_t dot = path.find('.');
    at = at->member(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return at;
}

ObjectPtr make_object(const Kind& kind, const Json& tree) {
  auto object = std::make_shared<Object>();
  object->ns = meta_text(tree, "namespace");
  object->name = meta_text(tree, "name");
  object->uid = meta_text(tree, "uid");
  object->revision = base::parse_int(meta_text(tree, "resourceVersion")).value_or(0);
  object->terminating = !meta_text(tree, "deletionTimestamp").empty();
  object->labels = labels_of(tree.at("metadata", "labels"));
  if (const Json* owners = tree.at("metadata", "ownerReferences"); owners != nullptr && owners->is_array())
    for (const Json& owner : owners->as_array()) object->owners.emplace_back(owner.text_at("uid"));
  for (const SelectField& field : kind.fields) {
    std::string value = text_of(at_path(tree, field.path));
    // Go's false is an absent member.
    if (value.empty() && (field.path == "spec.unschedulable" || field.path == "spec.hostNetwork")) value = "false";
    object->fields.push_back(std::move(value));
  }
  std::string text = tree.dump();
  text.shrink_to_fit();  // it is kept, and what is counted is its size
  object->bytes = net::make_buffer(std::move(text));
  return object;
}

Json& meta(Json& tree) {
  Json& value = tree["metadata"];
  if (!value.is_object()) value = Json::object();
  return value;
}

std::string_view meta_text(const Json& tree, std::string_view member) {
  return tree.text_at("metadata", member);
}

std::vector<std::string> finalizers(const Json& tree) {
  std::vector<std::string> out;
  if (const Json* list = tree.at("metadata", "finalizers"); list != nullptr && list->is_array())
    for (const Json& entry : list->as_array()) out.emplace_back(entry.get_string().value_or(""));
  return out;
}

void drop_empty_meta(Json& tree) {
  JsonObject& object = meta(tree).as_object();
  for (const char* member : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    const Json* held = object.find(member);
    if (held == nullptr) continue;
    if (held->is_null() || (held->is_object() && held->as_object().empty()) ||
        (held->is_array() && held->as_array().empty()))
      object.erase(member);
  }
}

void set_revision(Json& tree, std::int64_t revision) {
  meta(tree)["resourceVersion"] = base::cat(revision);
}

namespace {

Json with_head(const Kind& kind, std::string_view version, Json& tree,
               const std::vector<std::pair<std::string, std::string>>& renames, bool to_stored) {
  Json out = Json::object({{"kind", kind.name}, {"apiVersion", std::string_view(version)}});
  JsonObject& target = out.as_object();
  for (auto& [key, value] : tree.as_object()) {
    if (key == "kind" || key == "apiVersion") continue;
    std::string name = key;
    for (const auto& [here, stored] : renames) {
      if (to_stored ? key == here : key == stored) name = to_stored ? stored : here;
    }
    target.append_unchecked(std::move(name), std::move(value));
  }
  return out;
}

}  // namespace

void to_version(const Kind& kind, std::string_view version, Json& tree) {
  tree = with_head(kind, kind.api_version(version), tree, kind.renames, false);
}

void to_storage(const Kind& kind, Json& tree) {
  // Kinds that share their objects store them under the core group.
  const std::string version = kind.renames.empty() ? kind.api_version(kind.storage_version) : kind.storage_version;
  tree = with_head(kind, version, tree, kind.renames, true);
}

}  // namespace tidemark::kube::memory
