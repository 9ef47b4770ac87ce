#include "kube/memory/selector.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "kube/memory/names.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

constexpr std::size_t kSelectorShownMax = 40;  // of a selector in a message

const std::string* find_label(const LabelList& labels, std::string_view key) {
  const auto at = std::lower_bound(labels.begin(), labels.end(), key,
                                   [](const auto& label, std::string_view wanted) { return label.first < wanted; });
  return at == labels.end() || at->first != key ? nullptr : &at->second;
}

}  // namespace

class LabelSelectorParser {
 public:
  explicit LabelSelectorParser(std::string_view text) : text_(text) {}

  Answer<LabelSelector> parse() {
    LabelSelector selector;
    skip_blanks();
    if (at_ == text_.size()) return selector;
    for (;;) {
      TM_TRY(LabelSelector::Requirement requirement, requirement_here());
      selector.requirements_.push_back(std::move(requirement));
      skip_blanks();
      if (at_ == text_.size()) return selector;
      if (text_[at_] != ',') return stray("',' or 'end of string'");
      ++at_;
      skip_blanks();
      if (at_ == text_.size() || text_[at_] == ',') return stray("identifier after ','");
    }
  }

  static Answer<void> check(const LabelSelector::Requirement& requirement) {
    if (const std::string why = qualified_name_error(requirement.key); !why.empty())
      return refuse(
          bad_request(cat("unable to parse requirement: key: Invalid value: \"", requirement.key, "\": ", why)));
    for (const std::string& value : requirement.values) {
      if (const std::string why = label_value_error(value); !why.empty())
        return refuse(bad_request(cat("unable to parse requirement: values[0][", requirement.key,
                                      "]: Invalid value: \"", value, "\": ", why)));
      const bool compares =
          requirement.op == LabelSelector::Operator::kGreater || requirement.op == LabelSelector::Operator::kLess;
      if (compares && !base::parse_int(value))
        return refuse(bad_request(cat("unable to parse requirement: values[0]: Invalid value: \"", value,
                                      "\": for 'Gt', 'Lt' operators, the value must be an integer")));
    }
    return {};
  }

 private:
  using Operator = LabelSelector::Operator;

  // What stands here, as the API machinery's lexer cuts it: a word or one sign.
  std::string_view found() const {
    if (at_ == text_.size()) return {};
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,()=!<>", at_), text_.size());
    return text_.substr(at_, std::min<std::size_t>(std::max<std::size_t>(end - at_, 1), kSelectorShownMax));
  }
  // Between requirements, and inside one: the API machinery words them differently, in commas too.
  std::unexpected<ApiError> stray(std::string_view wanted) const {
    return refuse(bad_request(cat("found '", found(), "', expected: ", wanted)));
  }
  std::unexpected<ApiError> wrong(std::string_view wanted, std::string_view comma = ",") const {
    return refuse(bad_request(cat("unable to parse requirement: found '", found(), "'", comma, " expected: ", wanted)));
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r' || text_[at_] == '\n'))
      ++at_;
  }
  std::string_view word() {
    skip_blanks();
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,()=!<>", at_), text_.size());
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  Answer<LabelSelector::Requirement> requirement_here() {
    LabelSelector::Requirement requirement;
    const bool negated = take("!");
    requirement.key = word();
    if (requirement.key.empty()) return negated ? wrong("identifier") : stray("!, identifier, or 'end of string'");
    skip_blanks();
    if (negated || at_ == text_.size() || text_[at_] == ',') {
      requirement.op = negated ? Operator::kNotExists : Operator::kExists;
    } else if (take("==") || take("=")) {
      requirement.op = Operator::kIn;
      requirement.values.emplace_back(word());
    } else if (take("!=")) {
      requirement.op = Operator::kNotIn;
      requirement.values.emplace_back(word());
    } else if (take(">") || (text_[at_] == '<')) {
      requirement.op = text_[at_ - 1] == '>' ? Operator::kGreater : Operator::kLess;
      if (requirement.op == Operator::kLess) ++at_;
      requirement.values.emplace_back(word());
    } else {
      const std::size_t start = at_;
      const std::string_view op = word();
      if (op != "in" && op != "notin") {
        at_ = start;
        return wrong("in, notin, =, ==, !=, gt, lt");
      }
      requirement.op = op == "in" ? Operator::kIn : Operator::kNotIn;
      skip_blanks();
      if (!take("(")) return wrong("'('", "");
      do {
        requirement.values.emplace_back(word());
      } while (take(","));
      skip_blanks();
      if (!take(")")) return wrong("',' or ')'");
    }
    TM_TRY_VOID(check(requirement));
    return requirement;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Answer<LabelSelector> LabelSelector::parse(std::string_view text) {
  return LabelSelectorParser(text).parse();
}

Answer<LabelSelector> LabelSelector::from_json(const Json* selector) {
  LabelSelector out;
  if (selector == nullptr || !selector->is_object()) {
    out.nothing_ = true;
    return out;
  }
  if (const Json* labels = selector->at("matchLabels"); labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->as_object())
      out.requirements_.push_back({key, Operator::kIn, {std::string(value.get_string().value_or(""))}});
  }
  if (const Json* list = selector->at("matchExpressions"); list != nullptr && list->is_array()) {
    for (const Json& entry : list->as_array()) {
      Requirement requirement;
      requirement.key = entry.text_at("key");
      const std::string_view op = entry.text_at("operator");
      if (op == "In")
        requirement.op = Operator::kIn;
      else if (op == "NotIn")
        requirement.op = Operator::kNotIn;
      else if (op == "Exists")
        requirement.op = Operator::kExists;
      else if (op == "DoesNotExist")
        requirement.op = Operator::kNotExists;
      else
        return refuse(bad_request(cat("\"", op, "\" is not a valid label selector operator")));
      if (const Json* values = entry.at("values"); values != nullptr && values->is_array())
        for (const Json& value : values->as_array()) requirement.values.emplace_back(value.get_string().value_or(""));
      const bool lists = requirement.op == Operator::kIn || requirement.op == Operator::kNotIn;
      if (requirement.values.empty() == lists)
        return refuse(bad_request(cat("values ", lists ? kSelectorNeedsValues : kSelectorTakesNoValues)));
      out.requirements_.push_back(std::move(requirement));
    }
  }
  for (const Requirement& requirement : out.requirements_) TM_TRY_VOID(LabelSelectorParser::check(requirement));
  return out;
}

LabelList labels_of(const Json* labels) {
  LabelList out;
  if (labels == nullptr || !labels->is_object()) return out;
  for (const auto& [key, value] : labels->as_object()) out.emplace_back(key, value.get_string().value_or(""));
  std::sort(out.begin(), out.end());
  return out;
}

bool LabelSelector::holds(const Requirement& requirement, const LabelList& labels) {
  const std::string* value = find_label(labels, requirement.key);
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), *value) != requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::kIn:
      return value != nullptr && listed();
    case Operator::kNotIn:
      return value == nullptr || !listed();  // an absent label is not in any list
    case Operator::kExists:
      return value != nullptr;
    case Operator::kNotExists:
      return value == nullptr;
    case Operator::kGreater:
    case Operator::kLess: {
      const auto held = value == nullptr ? std::nullopt : base::parse_int(*value);
      const auto bound = base::parse_int(requirement.values.front());
      if (!held || !bound) return false;
      return requirement.op == Operator::kGreater ? *held > *bound : *held < *bound;
    }
  }
  return false;
}

bool LabelSelector::matches(const LabelList& labels) const {
  return !nothing_ && std::all_of(requirements_.begin(), requirements_.end(),
                                  [&](const Requirement& requirement) { return holds(requirement, labels); });
}

Answer<std::vector<FieldTerm>> parse_field_selector(std::string_view text) {
  std::vector<FieldTerm> terms;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t equals = text.find_first_of("=,", at);
    if (equals == std::string_view::npos || text[equals] == ',') {
      const std::size_t end = std::min(equals, text.size());
      if (end == at) {  // an empty term between commas
        at = end + 1;
        continue;
      }
      return refuse(
          bad_request(cat("invalid selector: '", text, "'; can't understand '", text.substr(at, end - at), "'")));
    }
    FieldTerm term;
    std::string_view name = text.substr(at, equals - at);
    if (name.ends_with('!')) {
      term.negated = true;
      name.remove_suffix(1);
    }
    term.field = base::trim(name);
    at = equals + 1;
    if (!term.negated && at < text.size() && text[at] == '=') ++at;
    for (; at < text.size() && text[at] != ','; ++at) {
      if (text[at] == '=') return refuse(bad_request(cat("invalid field selector: unescaped = in '", text, "'")));
      if (text[at] == '\\') {
        ++at;
        if (at == text.size() || (text[at] != '\\' && text[at] != ',' && text[at] != '='))
          return refuse(bad_request(cat("invalid field selector: invalid escape sequence in '", text, "'")));
      }
      term.value += text[at];
    }
    ++at;
    terms.push_back(std::move(term));
  }
  return terms;
}

}  // namespace tidemark::kube::memory
