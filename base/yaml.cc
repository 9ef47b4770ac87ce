#include "base/yaml.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace tidemark::base {
namespace {

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

// Leaves the parser's call-backs; caught in this file.
struct Refusal {
  YAML::Mark mark;
  std::string why;
};

Error error_at(int line, int column, std::string_view why) {
  return Error{ErrorKind::kInvalid, cat("line ", line, ", column ", column, ": ", why), 0, 0};
}

Error error_at(const YAML::Mark& mark, std::string_view why) {
  if (mark.is_null()) return Error{ErrorKind::kInvalid, std::string(why), 0, 0};
  return error_at(mark.line + 1, mark.column + 1, why);
}

bool all_of_digits(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

std::optional<Json> integer(std::string_view digits, int radix, bool negative) {
  std::string text = negative ? "-" : "";
  text += digits;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
  if (error == std::errc()) return Json(value);
  if (radix != 10) return std::nullopt;
  double wide = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), wide).ec != std::errc()) return std::nullopt;
  return Json(wide);
}

// A number, if the plain text is one.
std::optional<Json> number(std::string_view text) {
  std::string_view rest = text;
  const bool signed_text = rest.starts_with('-') || rest.starts_with('+');
  const bool negative = rest.starts_with('-');
  if (signed_text) rest.remove_prefix(1);
  if (!signed_text && rest.starts_with("0x") && all_of_digits(rest.substr(2), "0123456789abcdefABCDEF")) {
    return integer(rest.substr(2), 16, false);
  }
  if (!signed_text && rest.starts_with("0o") && all_of_digits(rest.substr(2), "01234567")) {
    return integer(rest.substr(2), 8, false);
  }
  if (all_of_digits(rest, "0123456789")) {
    const bool octal = rest.size() > 1 && rest.front() == '0' && all_of_digits(rest, "01234567");
    return integer(rest, octal ? 8 : 10, negative);
  }
  // [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
  const auto digits = [&rest] {
    std::size_t count = 0;
    while (count < rest.size() && rest[count] >= '0' && rest[count] <= '9') ++count;
    rest.remove_prefix(count);
    return count;
  };
  const std::size_t whole = digits();
  std::size_t fraction = 0;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = digits();
  }
  if (whole + fraction == 0) return std::nullopt;
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
    if (digits() == 0) return std::nullopt;
  }
  if (!rest.empty()) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  // Past a double's range it is a text: a short commit hash such as 12e4567.
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return Json(value);
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

bool is_null_word(std::string_view text) {
  return is_one_of(text, {"", "~", "null", "Null", "NULL"});
}

std::optional<Json> boolean(std::string_view text) {
  if (is_one_of(text, {"true", "True", "TRUE"})) return Json(true);
  if (is_one_of(text, {"false", "False", "FALSE"})) return Json(false);
  return std::nullopt;
}

bool has_no_json(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return is_one_of(text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"});
}

Json plain_scalar(const YAML::Mark& mark, std::string_view text) {
  if (is_null_word(text)) return {};
  if (auto value = boolean(text)) return std::move(*value);
  if (auto value = number(text)) return std::move(*value);
  if (has_no_json(text)) throw Refusal{mark, cat(text, " has no JSON value; quote it if it is a text")};
  return Json(text);
}

Json tagged_scalar(const YAML::Mark& mark, std::string_view tag, const std::string& text) {
  if (tag == "?") return plain_scalar(mark, text);
  if (tag == "!") return Json(text);
  const std::string_view kind = tag.starts_with(kCoreTag) ? tag.substr(kCoreTag.size()) : std::string_view();
  if (kind == "str") return Json(text);
  if (kind == "null" && is_null_word(text)) return {};
  std::optional<Json> value;
  if (kind == "bool") value = boolean(text);
  if (kind == "int") {
    value = number(text);
    if (value && !value->is_int()) value.reset();
  }
  if (kind == "float") {
    value = number(text);
    if (value) value = Json(value->as_double());
  }
  if (value) return std::move(*value);
  if (is_one_of(kind, {"null", "bool", "int", "float"})) throw Refusal{mark, cat("the value is no !!", kind)};
  throw Refusal{mark, cat("the tag ", in_quotes(tag), " is not known here")};
}

struct Weight {
  std::size_t nodes = 1;
  std::size_t bytes = 0;
  int depth = 1;

  void add(const Weight& child) {
    nodes += child.nodes;
    bytes += child.bytes;
    depth = std::max(depth, child.depth + 1);
  }
};

Weight weigh(const Json& value) {
  Weight weight;
  if (value.is_string()) weight.bytes = value.as_string().size();
  if (value.is_array()) {
    for (const Json& element : value.as_array()) weight.add(weigh(element));
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object()) {
      weight.bytes += key.size();
      weight.add(weigh(member));
    }
  }
  return weight;
}

// Builds trees from the parser's events. Everything that an alias brings counts as if it had been written out, so that
// a short text cannot unfold to a huge tree.
class Builder final : public YAML::EventHandler {
 public:
  std::vector<Json> documents;
  std::vector<int> member_lines;  // of the last document's outermost mapping

  void OnDocumentStart(const YAML::Mark& mark) override {
    // Outside brackets the library does not consume a comma: it finds an empty document before it, again and again.
    if (begun_at_ == mark.pos) throw Refusal{mark, "nothing can begin with this"};
    begun_at_ = mark.pos;
    anchors_.clear();
    member_lines.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, {}, anchor); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (key_wanted() && tag == "?" && value == "<<") {
      stack_.back().key = "<<";
      stack_.back().has_key = true;
      stack_.back().merging = true;
      stack_.back().key_mark = mark;
      return;
    }
    leaf(mark, tagged_scalar(mark, tag, value), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refusal{mark, "this alias stands inside what it names"};
    const Weight& weight = found->second.weight;
    spend(mark, weight);
    if (static_cast<int>(stack_.size()) + weight.depth > kYamlDepthMax) too_deep(mark);
    put(mark, found->second.value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", anchor, Json(Json::Array()));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map", anchor, Json(JsonObject()));
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Json value;
    YAML::anchor_t anchor = YAML::NullAnchor;
    YAML::Mark mark;
    std::string key;
    YAML::Mark key_mark;
    bool has_key = false;
    bool merging = false;
    std::unordered_set<std::string> keys;             // of a mapping, merged ones not counted
    std::vector<std::pair<YAML::Mark, Json>> merges;  // applied when the mapping closes: its own keys win
  };
  struct Anchored {
    Json value;
    Weight weight;
  };

  [[noreturn]] static void too_deep(const YAML::Mark& mark) {
    throw Refusal{mark, cat("nested deeper than ", kYamlDepthMax, " levels")};
  }

  bool key_wanted() const { return !stack_.empty() && stack_.back().value.is_object() && !stack_.back().has_key; }

  void spend(const YAML::Mark& mark, const Weight& weight) {
    spent_.nodes += weight.nodes;
    spent_.bytes += weight.bytes;
    if (spent_.nodes > kYamlNodesMax)
      throw Refusal{mark, cat("more than ", kYamlNodesMax, " values, aliases expanded")};
    if (spent_.bytes > kYamlTextMax) throw Refusal{mark, cat("more than ", kYamlTextMax, " bytes, aliases expanded")};
  }

  void remember(const YAML::Mark& mark, YAML::anchor_t anchor, const Json& value) {
    if (anchor == YAML::NullAnchor) return;
    const Weight weight = weigh(value);
    spend(mark, weight);  // the copy kept for aliases
    anchors_.insert_or_assign(anchor, Anchored{value, weight});
  }

  void leaf(const YAML::Mark& mark, Json value, YAML::anchor_t anchor) {
    spend(mark, weigh(value));
    remember(mark, anchor, value);
    put(mark, std::move(value));
  }

  void open(const YAML::Mark& mark, std::string_view tag, std::string_view kind, YAML::anchor_t anchor, Json empty) {
    const bool known =
        tag.empty() || tag == "?" || tag == "!" || (tag.starts_with(kCoreTag) && tag.substr(kCoreTag.size()) == kind);
    if (!known) throw Refusal{mark, cat("the tag ", in_quotes(tag), " is not known here")};
    // The library also ends up here with a bracket that is never closed.
    if (key_wanted()) throw Refusal{mark, "a bracket is not closed, or a list or mapping stands where a key must be"};
    if (static_cast<int>(stack_.size()) >= kYamlDepthMax) too_deep(mark);
    spend(mark, Weight{});
    Open& opened = stack_.emplace_back();
    opened.value = std::move(empty);
    opened.anchor = anchor;
    opened.mark = mark;
  }

  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    for (auto& [mark, merged] : done.merges) merge(mark, merged, done.value.as_object());
    remember(done.mark, done.anchor, done.value);
    put(done.mark, std::move(done.value));
  }

  static void merge(const YAML::Mark& mark, Json& from, JsonObject& into) {
    if (from.is_array()) {
      for (Json& each : from.as_array()) {
        if (!each.is_object()) throw Refusal{mark, "<< merges a mapping or a list of mappings"};
        merge(mark, each, into);
      }
      return;
    }
    if (!from.is_object()) throw Refusal{mark, "<< merges a mapping or a list of mappings"};
    for (auto& [key, value] : from.as_object()) {
      if (!into.contains(key)) into.append_unchecked(key, std::move(value));
    }
  }

  void put(const YAML::Mark& mark, Json value) {
    if (stack_.empty()) {
      documents.push_back(std::move(value));
      return;
    }
    Open& top = stack_.back();
    if (top.value.is_array()) {
      top.value.as_array().push_back(std::move(value));
      return;
    }
    if (!top.has_key) {
      top.key = key_text(mark, value);
      top.key_mark = mark;
      top.has_key = true;
      return;
    }
    top.has_key = false;
    if (top.merging) {
      top.merging = false;
      top.merges.emplace_back(top.key_mark, std::move(value));
      return;
    }
    if (!top.keys.insert(top.key).second) {
      throw Refusal{top.key_mark, cat("the key ", in_quotes(top.key), " is given twice")};
    }
    if (stack_.size() == 1) member_lines.push_back(top.key_mark.line + 1);
    top.value.as_object().append_unchecked(std::move(top.key), std::move(value));
  }

  static std::string key_text(const YAML::Mark& mark, const Json& key) {
    if (key.is_string()) return key.as_string();
    if (key.is_bool() || key.is_number()) return key.dump();
    throw Refusal{mark, key.is_null() ? "a key is missing" : "a key must be a text, not a list or a mapping"};
  }

  std::optional<int> begun_at_;  // the last document
  std::vector<Open> stack_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  Weight spent_{.nodes = 0, .bytes = 0, .depth = 0};
};

// The library stops without a word at some control characters, which YAML forbids anyway, and does not look at UTF-8.
Result<void> check_characters(std::string_view text) {
  if (text.size() > kYamlInputMax) {
    return fail(ErrorKind::kInvalid, "the text has ", text.size(), " bytes; the limit is ", kYamlInputMax);
  }
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') {
      ++line;
      line_start = i + 1;
    } else if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7f) {
      return fail(error_at(line, static_cast<int>(i - line_start) + 1, "a control character, which YAML forbids"));
    }
  }
  if (valid_utf8(text)) return {};
  line = 1;
  for (const std::string_view each : split(text, '\n')) {
    if (!valid_utf8(each)) break;
    ++line;
  }
  return fail(ErrorKind::kInvalid, "line ", line, ": the text is not UTF-8");
}

Result<void> build(std::string_view text, Builder& builder) {
  TM_TRY_VOID(check_characters(text));
  try {
    std::istringstream input{std::string(text)};
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(builder)) {
    }
    return {};
  } catch (const Refusal& refusal) {
    return fail(error_at(refusal.mark, refusal.why));
  } catch (const YAML::DeepRecursion& error) {
    return fail(error_at(error.mark, cat("nested deeper than ", kYamlDepthMax, " levels")));
  } catch (const YAML::Exception& error) {
    return fail(error_at(error.mark, error.msg));
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInvalid, "the YAML reader failed: ", error.what());
  }
}

Result<Json> only_document(Builder& builder) {
  if (builder.documents.empty()) return Json();
  if (builder.documents.size() > 1) {
    return fail(ErrorKind::kInvalid, "the text holds ", builder.documents.size(), " documents where one is wanted");
  }
  return std::move(builder.documents.front());
}

}  // namespace

Result<Json> parse_yaml(std::string_view text) {
  Builder builder;
  TM_TRY_VOID(build(text, builder));
  return only_document(builder);
}

Result<std::vector<Json>> parse_yaml_documents(std::string_view text) {
  Builder builder;
  TM_TRY_VOID(build(text, builder));
  std::erase_if(builder.documents, [](const Json& document) { return document.is_null(); });
  return std::move(builder.documents);
}

Result<std::vector<YamlMember>> parse_yaml_members(std::string_view text) {
  Builder builder;
  TM_TRY_VOID(build(text, builder));
  TM_TRY(Json document, only_document(builder));
  std::vector<YamlMember> members;
  if (document.is_null()) return members;
  if (!document.is_object()) return fail(ErrorKind::kInvalid, "line 1: a mapping (key: value) is wanted here");
  std::size_t i = 0;
  for (auto& [key, value] : document.as_object()) {
    // Members that came by a merge key stand behind the others and have no line of their own.
    const int line = i < builder.member_lines.size() ? builder.member_lines[i] : 1;
    members.push_back({key, std::move(value), line});
    ++i;
  }
  return members;
}

}  // namespace tidemark::base
