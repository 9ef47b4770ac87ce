#include "policy/explain/sources_text.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::policy::explain {
namespace {

using base::cat;

std::int64_t seconds(base::Duration age) {
  return std::chrono::duration_cast<std::chrono::seconds>(age).count();
}

std::string state_of(const Source& source) {
  if (source.count) return cat(*source.count, *source.count == 1 ? " object" : " objects");
  if (source.revision.empty() && !source.recorded) return "does not exist";
  std::string out = source.revision.empty() ? std::string() : cat("revision ", source.revision);
  if (source.recorded) out += out.empty() ? "as recorded" : ", as recorded";
  if (!source.age) return out;
  // A node's clock may be ahead of this one.
  if (*source.age < base::Duration(0)) return cat(out, ", of ", -seconds(*source.age), " s from now");
  return cat(out, ", ", seconds(*source.age), " s old");
}

}  // namespace

std::string render_text(std::span<const Source> sources) {
  if (sources.empty()) return "";
  std::size_t object_width = 0;
  std::size_t state_width = 0;
  for (const Source& source : sources) {
    object_width = std::max(object_width, source.object.size());
    state_width = std::max(state_width, state_of(source).size());
  }
  std::string out = "\nfrom\n";
  for (const Source& source : sources) {
    const std::string state = state_of(source);
    out += cat("  ", source.object, std::string(object_width - source.object.size() + 2, ' '), state,
               std::string(state_width - state.size() + 2, ' '), source.gives, "\n");
  }
  return out;
}

Json render_json(std::span<const Source> sources) {
  Json out = Json::array();
  for (const Source& source : sources) {
    Json shown = Json::object({{"object", Json(source.object)}});
    shown["revision"] = source.revision.empty() ? Json(nullptr) : Json(source.revision);
    if (source.recorded) shown["recorded"] = Json(true);
    if (source.age) shown["ageSeconds"] = Json(seconds(*source.age));
    if (source.count) shown["count"] = Json(static_cast<std::int64_t>(*source.count));
    shown["gives"] = Json(source.gives);
    Json terms = Json::array();
    for (const auto term : source.terms) terms.as_array().push_back(Json(term));
    shown["terms"] = std::move(terms);
    out.as_array().push_back(std::move(shown));
  }
  return out;
}

}  // namespace tidemark::policy::explain
