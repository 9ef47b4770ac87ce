// Label selectors as Kubernetes matches them: {"matchLabels":{…},"matchExpressions":[{key, operator, values}]}.
// Every requirement must hold. An empty selector matches everything; no selector at all matches nothing.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::base {
class Json;
}

namespace tidemark::model {

struct Label {
  std::string key;
  std::string value;
  bool operator==(const Label&) const = default;
};

// The labels of an object in any container. A view: it must not outlive them.
class LabelsView {
 public:
  LabelsView() = default;  // of an object without labels
  template <class List>
    requires std::convertible_to<const List&, std::span<const Label>>
  LabelsView(const List& list) : list_(list) {}
  // A map whose find(key) returns a pointer to the text, null if there is none.
  template <class Map>
    requires requires(const Map& map) { map.find(std::string_view())->view(); }
  LabelsView(const Map& map)
      : map_(&map), find_in_map_([](const void* at, std::string_view key) -> std::optional<std::string_view> {
          const auto* value = static_cast<const Map*>(at)->find(key);
          return value == nullptr ? std::nullopt : std::optional(value->view());
        }) {}

  std::optional<std::string_view> find(std::string_view key) const;

 private:
  std::span<const Label> list_;
  const void* map_ = nullptr;
  std::optional<std::string_view> (*find_in_map_)(const void* map, std::string_view key) = nullptr;
};

class LabelSelector {
 public:
  static LabelSelector everything() { return LabelSelector(true); }
  static LabelSelector nothing() { return LabelSelector(false); }

  // Wrong JSON types are an error: the document cannot be read at all. A selector of the right types that breaks a rule
  // (an unknown operator, In without values, an invalid key) is accepted, matches nothing, and has a problem():
  // Kubernetes rejects it only on use. null gives nothing().
  static Result<LabelSelector> from_json(const base::Json& value);

  // `find(key)` returns the label's value as std::optional<std::string_view>.
  template <class Find>
  bool matches_where(const Find& find) const {
    if (!selects_ || problem_) return false;
    for (const Requirement& requirement : requirements_) {
      if (!requirement.holds(find(std::string_view(requirement.key)))) return false;
    }
    return true;
  }
  bool matches(LabelsView labels) const {
    return matches_where([labels](std::string_view key) { return labels.find(key); });
  }

  const std::optional<Error>& problem() const { return problem_; }
  // No requirements, so that everything matches.
  bool empty() const { return selects_ && !problem_ && requirements_.empty(); }

 private:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
    bool holds(std::optional<std::string_view> value) const;
  };

  explicit LabelSelector(bool selects) : selects_(selects) {}
  void require(std::string key, std::string_view op, std::vector<std::string> values);

  bool selects_ = false;
  std::vector<Requirement> requirements_;
  std::optional<Error> problem_;
};

// The rules for label keys ("example.com/name") and values; the message says which one is broken.
Result<void> check_label_key(std::string_view key);
Result<void> check_label_value(std::string_view value);

}  // namespace tidemark::model
