#include "operate/manifests.h"

#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"
#include "base/yaml.h"
#include "model/names.h"

namespace tidemark::operate {
namespace {

Result<Manifests::Data> data_in(const Json& map) {
  Manifests::Data data;
  const Json* members = map.member("data");
  if (members == nullptr || members->is_null()) return data;
  if (!members->is_object()) return fail(ErrorKind::kInvalid, "data: wanted texts by key");
  for (const auto& [key, value] : members->as_object()) {
    if (!value.is_string()) return fail(ErrorKind::kInvalid, "data.", key, ": wanted a text");
    data[key] = value.as_string();
  }
  return data;
}

}  // namespace

std::vector<std::string> read_manifests(std::string_view text, std::string_view config_name, Manifests& found) {
  auto documents = base::parse_yaml_documents(text);
  if (!documents) return {documents.error().message};
  std::vector<std::string> problems;
  std::vector<Json> objects;
  for (Json& document : *documents) {
    if (const Json* items = document.member("items"); items != nullptr && items->is_array()) {
      objects.insert(objects.end(), items->as_array().begin(), items->as_array().end());
    } else {
      objects.push_back(std::move(document));
    }
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Json& object = objects[i];
    const auto name = object.text_at("metadata", "name");
    const auto place = base::cat("document ", i + 1, " (", object.text_at("kind"), " ", name, "): ");
    auto* into = name == config_name ? &found.slo : name == model::kTidemarkConfigName ? &found.tidemark : nullptr;
    if (object.text_at("kind") != "ConfigMap" || into == nullptr) {
      problems.push_back(base::cat(place, "wanted ConfigMap ", config_name, " or ", model::kTidemarkConfigName));
      continue;
    }
    auto data = data_in(object);
    if (!data) {
      problems.push_back(place + data.error().message);
    } else if (*into) {
      problems.push_back(place + "it is there twice");
    } else {
      *into = std::move(*data);
    }
  }
  if (problems.empty() && !found.slo && !found.tidemark) problems.emplace_back("the file has no ConfigMap");
  return problems;
}

}  // namespace tidemark::operate
