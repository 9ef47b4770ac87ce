#include "base/feature_gates.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tidemark::base {

const FeatureGate* FeatureGates::find(std::string_view name) const {
  const auto found = std::ranges::find(known_, name, &FeatureGate::name);
  return found == known_.end() ? nullptr : &*found;
}

Result<void> FeatureGates::take(std::span<const std::string> words) {
  std::map<std::string, bool, std::less<>> given;
  for (const std::string_view word : words) {
    const std::size_t equals = word.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    const auto enabled = parse_go_bool(value);
    if (equals == 0 || !enabled) {
      return fail(ErrorKind::kInvalid, in_quotes(word), " is not NAME=true or NAME=false");
    }
    given[std::string(trim(word.substr(0, equals)))] = *enabled;
  }
  given_ = std::move(given);
  return {};
}

bool FeatureGates::enabled(std::string_view name) const {
  if (const auto given = given_.find(name); given != given_.end()) return given->second;
  const FeatureGate* gate = find(name);
  return gate != nullptr && gate->enabled;
}

std::vector<std::string> FeatureGates::without_effect() const {
  std::vector<std::string_view> names;
  for (const FeatureGate& gate : known_) names.push_back(gate.name);
  std::vector<std::string> sentences;
  for (const auto& [name, enabled] : given_) {
    const FeatureGate* gate = find(name);
    if (gate == nullptr) {
      const auto meant = nearest(name, names);
      sentences.push_back(
          cat("no feature gate ", name, " is known here", meant ? cat("; did you mean ", *meant, "?") : std::string()));
    } else if (!gate->built && enabled != gate->enabled) {
      sentences.push_back(cat("what the feature gate ", name, " switches is not here"));
    }
  }
  return sentences;
}

}  // namespace tidemark::base
