#include "model/selector.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::model {
namespace {

constexpr std::size_t kNameMax = 63;     // bytes of a label's name, and of its value
constexpr std::size_t kPrefixMax = 253;  // bytes of the DNS name before the slash

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_alphanumeric(char c) {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

// Letters, digits, '-', '_' and '.', beginning and ending with a letter or digit.
bool is_name(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_dns_name(std::string_view text) {
  for (const std::string_view part : base::split(text, '.')) {
    const bool good = !part.empty() && is_lower_or_digit(part.front()) && is_lower_or_digit(part.back()) &&
                      std::all_of(part.begin(), part.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
    if (!good) return false;
  }
  return true;
}

Result<std::string> text_of(const Json& value, std::string_view what) {
  if (value.is_null()) return std::string();
  if (!value.is_string()) return fail(ErrorKind::kInvalid, what, ": wanted a string, found ", value.dump());
  return value.as_string();
}

}  // namespace

Result<void> check_label_key(std::string_view key) {
  std::string_view name = key;
  if (const auto slash = key.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (prefix.empty() || prefix.size() > kPrefixMax || !is_dns_name(prefix)) {
      return fail(ErrorKind::kInvalid, "label key ", base::in_quotes(key), ": the part before '/' is not a DNS name");
    }
  }
  if (!is_name(name) || name.size() > kNameMax) {
    return fail(ErrorKind::kInvalid, "label key ", base::in_quotes(key), ": the name must be 1 to ", kNameMax,
                " letters, digits, '-', '_' or '.', with a letter or digit at both ends");
  }
  return {};
}

Result<void> check_label_value(std::string_view value) {
  if (value.empty() || (is_name(value) && value.size() <= kNameMax)) return {};
  return fail(ErrorKind::kInvalid, "label value ", base::in_quotes(value), ": must be empty or up to ", kNameMax,
              " letters, digits, '-', '_' or '.', with a letter or digit at both ends");
}

bool LabelSelector::Requirement::holds(std::optional<std::string_view> value) const {
  const auto listed = [&] { return std::find(values.begin(), values.end(), *value) != values.end(); };
  switch (op) {
    case Operator::kIn:
      return value && listed();
    case Operator::kNotIn:
      return !value || !listed();
    case Operator::kExists:
      return value.has_value();
    case Operator::kDoesNotExist:
      return !value.has_value();
  }
  return false;
}

void LabelSelector::require(std::string key, std::string_view op, std::vector<std::string> values) {
  if (problem_) return;
  const auto refuse = [&](std::string_view why) {
    problem_ = Error{ErrorKind::kInvalid, base::cat("selector on ", base::in_quotes(key), ": ", why), 0, 0};
  };
  Requirement requirement;
  if (op == "In" || op == "NotIn") {
    requirement.op = op == "In" ? Operator::kIn : Operator::kNotIn;
    if (values.empty()) return refuse(base::cat(op, " needs at least one value"));
  } else if (op == "Exists" || op == "DoesNotExist") {
    requirement.op = op == "Exists" ? Operator::kExists : Operator::kDoesNotExist;
    if (!values.empty()) return refuse(base::cat(op, " takes no values"));
  } else {
    return refuse(base::cat("the operator must be In, NotIn, Exists or DoesNotExist, found ", base::in_quotes(op)));
  }
  if (const auto good = check_label_key(key); !good) return refuse(good.error().message);
  for (const auto& value : values) {
    if (const auto good = check_label_value(value); !good) return refuse(good.error().message);
  }
  requirement.key = std::move(key);
  requirement.values = std::move(values);
  requirements_.push_back(std::move(requirement));
}

std::optional<std::string_view> LabelsView::find(std::string_view key) const {
  if (map_ != nullptr) return find_in_map_(map_, key);
  const auto found = std::ranges::find(list_, key, &Label::key);
  return found == list_.end() ? std::nullopt : std::optional<std::string_view>(found->value);
}

Result<LabelSelector> LabelSelector::from_json(const base::Json& value) {
  if (value.is_null()) return nothing();
  if (!value.is_object()) return fail(ErrorKind::kInvalid, "label selector: wanted an object, found ", value.dump());
  LabelSelector selector = everything();

  if (const Json* labels = value.member("matchLabels"); labels != nullptr && !labels->is_null()) {
    if (!labels->is_object()) return fail(ErrorKind::kInvalid, "matchLabels: wanted an object of strings");
    for (const auto& [key, wanted] : labels->as_object()) {
      TM_TRY(auto text, text_of(wanted, base::cat("matchLabels.", key)));
      selector.require(key, "In", {std::move(text)});
    }
  }

  if (const Json* list = value.member("matchExpressions"); list != nullptr && !list->is_null()) {
    if (!list->is_array()) return fail(ErrorKind::kInvalid, "matchExpressions: wanted an array");
    for (const Json& expression : list->as_array()) {
      if (!expression.is_object()) return fail(ErrorKind::kInvalid, "matchExpressions: wanted objects");
      const Json none;
      const auto member = [&](std::string_view name) -> const Json& {
        const Json* found = expression.member(name);
        return found == nullptr ? none : *found;
      };
      TM_TRY(auto key, text_of(member("key"), "matchExpressions.key"));
      TM_TRY(const auto op, text_of(member("operator"), "matchExpressions.operator"));
      std::vector<std::string> values;
      if (const Json& given = member("values"); !given.is_null()) {
        if (!given.is_array()) return fail(ErrorKind::kInvalid, "matchExpressions.values: wanted an array of strings");
        for (const Json& each : given.as_array()) {
          TM_TRY(auto text, text_of(each, "matchExpressions.values"));
          values.push_back(std::move(text));
        }
      }
      selector.require(std::move(key), op, std::move(values));
    }
  }
  return selector;
}

}  // namespace tidemark::model
