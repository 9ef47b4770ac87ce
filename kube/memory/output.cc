#include "kube/memory/output.h"

#include <map>

#include "base/text.h"
#include "base/yaml.h"
#include "kube/memory/columns.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

Json partial(const Json& tree) {
  return Json::object({{"kind", "PartialObjectMetadata"},
                       {"apiVersion", "meta.k8s.io/v1"},
                       {"metadata", tree.at("metadata") == nullptr ? Json::object() : *tree.at("metadata")}});
}

Json tree_of(const Kind& kind, std::string_view version, const Object& object) {
  Json tree = object.json();
  to_version(kind, version, tree);
  return tree;
}

// Columns look at the stored form, in which kinds that share objects agree.
Json row_of(const Kind& kind, std::string_view version, const Object& object, const OutputForm& form,
            base::WallTime now) {
  const Json stored = object.json();
  Json row = Json::object({{"cells", cells_of(*kind.version(version), stored, now)}});
  if (form.include == OutputForm::Include::kMetadata) row["object"] = partial(stored);
  if (form.include == OutputForm::Include::kObject) row["object"] = tree_of(kind, version, object);
  return row;
}

// Without its rows, which come last.
Json table(const Kind& kind, std::string_view version, const OutputForm& form, Json metadata) {
  return Json::object({{"kind", "Table"},
                       {"apiVersion", "meta.k8s.io/v1"},
                       {"metadata", std::move(metadata)},
                       {"columnDefinitions", form.columns ? column_definitions(*kind.version(version)) : Json()}});
}

Json table(const Kind& kind, std::string_view version, const OutputForm& form, Json metadata, Json::Array rows) {
  Json out = table(kind, version, form, std::move(metadata));
  out["rows"] = std::move(rows);
  return out;
}

std::string head_of(const Kind& kind, std::string_view version) {
  return cat("{\"kind\":\"", kind.name, "\",\"apiVersion\":\"", kind.api_version(version), "\",");
}

// YAML goes out with sorted members, as people know it.
Json sorted(const Json& value) {
  if (value.is_array()) {
    Json::Array out;
    for (const Json& element : value.as_array()) out.push_back(sorted(element));
    return out;
  }
  if (!value.is_object()) return value;
  std::map<std::string_view, const Json*> members;
  for (const auto& [key, member] : value.as_object()) members.emplace(key, &member);
  Json out = Json::object();
  for (const auto& [key, member] : members) out.as_object().append_unchecked(std::string(key), sorted(*member));
  return out;
}

std::string finish(const Json& tree, const OutputForm& form) {
  return form.yaml ? base::to_yaml(sorted(tree)) : tree.dump();
}

// The list says what its items are; those of custom kinds say it again.
std::string item_of(const Kind& kind, std::string_view version, const Object& object) {
  const net::Buffer bytes = object_bytes(kind, version, object);
  const std::string head = head_of(kind, version);
  std::string_view text = *bytes;
  if (kind.custom || !text.starts_with(head)) return std::string(text);
  return cat("{", text.substr(head.size()));
}

std::string object_text(const Kind& kind, std::string_view version, const Object& object, const OutputForm& form,
                        base::WallTime now) {
  switch (form.as) {
    case OutputForm::As::kTable:
      return table(kind, version, form, Json::object({{"resourceVersion", cat(object.revision)}}),
                   {row_of(kind, version, object, form, now)})
          .dump();
    case OutputForm::As::kPartial:
      return partial(object.json()).dump();
    case OutputForm::As::kWhole:
      break;
  }
  return *object_bytes(kind, version, object);
}

}  // namespace

Answer<OutputForm> negotiate(std::string_view accept) {
  if (base::trim(accept).empty()) return OutputForm();
  for (const std::string_view entry : base::split(accept, ',')) {
    const auto parts = base::split(entry, ';');
    const std::string_view type = base::trim(parts.front());
    OutputForm form;
    form.yaml = type == "application/yaml";
    if (type != "application/json" && type != "*/*" && type != "application/*" && !form.yaml) continue;
    bool served = true;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::string_view part = base::trim(parts[i]);
      if (part == "as=Table")
        form.as = OutputForm::As::kTable;
      else if (part == "as=PartialObjectMetadata" || part == "as=PartialObjectMetadataList")
        form.as = OutputForm::As::kPartial;
      else if (part.starts_with("as=") || (part.starts_with("v=") && part != "v=v1"))
        served = false;
    }
    if (served) return form;
  }
  ApiError error = plain_error(406, "NotAcceptable",
                               "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
                               "application/json;as=Table;v=v1;g=meta.k8s.io, "
                               "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
  error.bare_details = true;
  return refuse(std::move(error));
}

net::Buffer object_bytes(const Kind& kind, std::string_view version, const Object& object) {
  // The stored text starts with its kind and version: where these are the ones wanted, it goes out as it is.
  if (kind.renames.empty() && std::string_view(*object.bytes).starts_with(head_of(kind, version))) return object.bytes;
  return net::make_buffer(tree_of(kind, version, object).dump());
}

std::string render_object(const Kind& kind, std::string_view version, const Object& object, const OutputForm& form,
                          base::WallTime now) {
  std::string text = object_text(kind, version, object, form, now);
  return form.yaml ? finish(*Json::parse(text), form) : text;
}

ListText::ListText(const Kind& kind, std::string_view version, const Store::Page& page, std::string_view continue_token,
                   const OutputForm& form, base::WallTime now)
    : kind_(kind), version_(version), form_(form), now_(now) {
  Json metadata = Json::object({{"resourceVersion", cat(page.revision)}});
  if (!continue_token.empty()) metadata["continue"] = continue_token;
  if (!continue_token.empty() && page.remaining >= 0) metadata["remainingItemCount"] = page.remaining;
  items_ = form.as == OutputForm::As::kTable ? "rows" : "items";
  if (form.as == OutputForm::As::kTable) {
    envelope_ = table(kind, version, form, std::move(metadata));
  } else {
    const bool partial_form = form.as == OutputForm::As::kPartial;
    envelope_ = Json::object({{"kind", partial_form ? "PartialObjectMetadataList" : kind.list_name},
                              {"apiVersion", partial_form ? "meta.k8s.io/v1" : kind.api_version(version)},
                              {"metadata", std::move(metadata)}});
  }
}

// The members of the envelope that YAML's order puts before the items, or behind them.
Json ListText::sorted_part(bool before) const {
  Json out = Json::object();
  for (const auto& [key, value] : sorted(envelope_).as_object())
    if ((key < items_) == before) out.as_object().append_unchecked(key, value);
  return out;
}

void ListText::begin(std::string& out) const {
  if (form_.yaml) {
    const Json before = sorted_part(true);
    if (!before.as_object().empty()) out += base::to_yaml(before);
    return;
  }
  envelope_.append_to(out);
  out.pop_back();
  out += cat(",\"", items_, "\":[");
}

void ListText::add(std::string& out, const Object& object) {
  if (form_.yaml) {
    if (first_) out += cat(items_, ":\n");
    const Json item = form_.as == OutputForm::As::kTable     ? row_of(kind_, version_, object, form_, now_)
                      : form_.as == OutputForm::As::kPartial ? partial(object.json())
                                                             : *Json::parse(item_of(kind_, version_, object));
    out += base::to_yaml(sorted(Json::array({item})));
  } else {
    if (!first_) out += ',';
    if (form_.as == OutputForm::As::kTable)
      row_of(kind_, version_, object, form_, now_).append_to(out);
    else if (form_.as == OutputForm::As::kPartial)
      partial(object.json()).append_to(out);
    else
      out += item_of(kind_, version_, object);
  }
  first_ = false;
}

void ListText::end(std::string& out) const {
  if (!form_.yaml) {
    out += "]}";
    return;
  }
  if (first_) out += cat(items_, ": []\n");
  const Json behind = sorted_part(false);
  if (!behind.as_object().empty()) out += base::to_yaml(behind);
}

net::Buffer render_change(const Kind& kind, std::string_view version, ChangeType type, const Change& change,
                          const OutputForm& form, base::WallTime now) {
  const bool shared = form.as == OutputForm::As::kWhole && type == change.type;
  if (shared && change.text != nullptr && change.text_version == version) return change.text;
  ObjectPtr object = change.object;
  if (type == ChangeType::kDeleted && change.type != ChangeType::kDeleted) {
    // It stopped matching a selector: what it was when it still did, at the revision of the change.
    Json tree = change.before->json();
    set_revision(tree, change.revision);
    object = make_object(kind, tree);
  }
  std::string text =
      cat("{\"type\":\"", to_string(type), "\",\"object\":", object_text(kind, version, *object, form, now), "}\n");
  text.shrink_to_fit();  // history keeps it, and counts its size
  const net::Buffer line = net::make_buffer(std::move(text));
  if (shared && change.text == nullptr) {
    change.text_version = version;
    change.text = line;
  }
  return line;
}

std::string render_initial(const Kind& kind, std::string_view version, const Object& object, const OutputForm& form,
                           base::WallTime now) {
  return cat("{\"type\":\"ADDED\",\"object\":", object_text(kind, version, object, form, now), "}\n");
}

std::string render_bookmark(const Kind& kind, std::string_view version, std::int64_t revision, bool initial_end,
                            const OutputForm& form) {
  Json metadata = Json::object({{"resourceVersion", cat(revision)}, {"creationTimestamp", nullptr}});
  if (initial_end) metadata["annotations"] = Json::object({{"k8s.io/initial-events-end", "true"}});
  Json object;
  if (form.as == OutputForm::As::kTable) {
    object = table(kind, version, form, std::move(metadata), {});
  } else {
    const bool partial_form = form.as == OutputForm::As::kPartial;
    object = Json::object({{"kind", partial_form ? std::string("PartialObjectMetadata") : kind.name},
                           {"apiVersion", partial_form ? std::string("meta.k8s.io/v1") : kind.api_version(version)},
                           {"metadata", std::move(metadata)}});
  }
  return cat("{\"type\":\"BOOKMARK\",\"object\":", object.dump(), "}\n");
}

}  // namespace tidemark::kube::memory
