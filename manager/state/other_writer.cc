#include "manager/state/other_writer.h"

#include "base/text.h"

namespace tidemark::manager {
namespace {

constexpr std::string_view kOurFieldManager = "tidemark";

}  // namespace

std::string other_writer(std::string_view object, const std::function<bool(const Json& fields)>& concern) {
  const auto tree = Json::parse(object);
  const Json* managed = tree ? tree->at("metadata", "managedFields") : nullptr;
  if (managed == nullptr || !managed->is_array()) return "";
  std::string found;
  std::string_view latest;
  for (const Json& entry : managed->as_array()) {
    const std::string_view writer = entry.text_at("manager");
    const Json* fields = entry.member("fieldsV1");
    if (writer == kOurFieldManager || fields == nullptr || !concern(*fields)) continue;
    const std::string_view time = entry.text_at("time");  // RFC 3339 in UTC: sorts as text
    if (!found.empty() && time < latest) continue;
    latest = time;
    found = base::cat(writer, " (", entry.text_at("operation"), ")");
  }
  return found;
}

}  // namespace tidemark::manager
