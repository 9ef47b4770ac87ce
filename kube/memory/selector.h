// Label and field selectors, in the text grammar of the API.
//
//   labels: a=b  a==b  a!=b  a in (b,c)  a notin (b,c)  a  !a  a>1  a<1      fields: a=b  a==b  a!=b
// Requirements are joined by commas, and all must hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/memory/api_error.h"

namespace tidemark::kube::memory {

using LabelList = std::vector<std::pair<std::string, std::string>>;  // sorted by key
LabelList labels_of(const Json* labels);                             // metadata.labels; null and the like are none

// What is wrong with an expression's values, in the API machinery's words.
inline constexpr const char* kSelectorNeedsValues = "must be specified when `operator` is 'In' or 'NotIn'";
inline constexpr const char* kSelectorTakesNoValues =
    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";

class LabelSelector {
 public:
  // 400 where the text is not a selector.
  static Answer<LabelSelector> parse(std::string_view text);
  // metav1.LabelSelector: matchLabels and matchExpressions. Null selects nothing, {} everything.
  static Answer<LabelSelector> from_json(const Json* selector);
  bool matches(const LabelList& labels) const;
  bool empty() const { return requirements_.empty() && !nothing_; }

 private:
  enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kNotExists, kGreater, kLess };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
  };
  friend class LabelSelectorParser;
  static bool holds(const Requirement& requirement, const LabelList& labels);
  std::vector<Requirement> requirements_;
  bool nothing_ = false;
};

struct FieldTerm {
  std::string field;
  std::string value;
  bool negated = false;
};

// Backslash escapes , = and itself in values. Which fields a kind has is checked by the caller.
Answer<std::vector<FieldTerm>> parse_field_selector(std::string_view text);

}  // namespace tidemark::kube::memory
