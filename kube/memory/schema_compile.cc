// Reading a schema and refusing what is not structural or not supported.
#include "kube/memory/schema.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "kube/json_index.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

constexpr int kSchemaDepthMax = 64;

// The C library compiles groups by recursion and counted repetitions by copying: without bounds a pattern of 100 KB
// overflows the stack, and one of 30 bytes takes gigabytes.
constexpr std::size_t kPatternMax = 4096;            // bytes
constexpr std::size_t kPatternGroupsMax = 64;        // one in the other
constexpr std::uint64_t kPatternNodesMax = 100'000;  // characters and classes, repetitions written out

bool too_costly(std::string_view posix) {
  std::vector<std::uint64_t> groups{0};  // nodes of each open group so far
  std::uint64_t last = 1;                // nodes of what a repetition would repeat
  for (std::size_t at = 0; at < posix.size() && groups.back() <= kPatternNodesMax; ++at) {
    if (posix[at] == '(') {
      groups.push_back(0);
    } else if (posix[at] == ')' && groups.size() > 1) {
      last = groups.back() + 1;
      groups.pop_back();
      groups.back() += last;
    } else if (posix[at] == '{') {
      const std::string_view counts = posix.substr(at + 1, posix.find('}', at) - at - 1);
      std::uint64_t most = 1;
      for (const std::string_view count : base::split(counts, ','))
        most = std::max(most, base::parse_uint(count).value_or(1));
      if (most > kPatternNodesMax) return true;
      groups.back() += last * (most - 1);
      last *= most;
    } else {
      if (posix[at] == '\\') ++at;
      if (posix[at] == '[')
        at = std::min(posix.find(']', at + (posix.substr(at).starts_with("[^") ? 3 : 2)), posix.size());
      last = 1;
      ++groups.back();
    }
    if (groups.size() > kPatternGroupsMax) return true;
  }
  return groups.back() > kPatternNodesMax || posix.size() > kPatternMax;
}

// RE2 (what the real server uses) and POSIX extended expressions differ in classes of one letter, and in a dot, which
// is no line end there; classes that are negated match one in both. Answers nothing where the pattern needs something
// that POSIX cannot say.
std::optional<std::string> to_posix(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 'd')
        out += in_class ? "0-9" : "[0-9]";
      else if (next == 'w')
        out += in_class ? "0-9A-Za-z_" : "[0-9A-Za-z_]";
      else if (next == 's')
        out += in_class ? " \t\n\f\r" : "[ \t\n\f\r]";
      else if (next == 'D' && !in_class)
        out += "[^0-9]";
      else if (next == 'W' && !in_class)
        out += "[^0-9A-Za-z_]";
      else if (next == 'S' && !in_class)
        out += "[^ \t\n\f\r]";
      else if (next == 'n')
        out += '\n';
      else if (next == 't')
        out += '\t';
      else if ((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || (next >= '0' && next <= '9'))
        return std::nullopt;
      else if (in_class) {
        // A bracket expression has no escapes: the few characters that need one are better refused than misread.
        if (next == ']' || next == '[' || next == '^' || next == '\\') return std::nullopt;
        if (next == '-') {
          if (i + 1 >= pattern.size() || pattern[i + 1] != ']') return std::nullopt;
        }
        out += next;
      } else {
        out += '\\';
        out += next;
      }
      continue;
    }
    if (c == '[' && !in_class) {
      in_class = true;
      out += c;
      if (i + 1 < pattern.size() && pattern[i + 1] == '^') out += pattern[++i];
      continue;
    }
    if (c == ']' && in_class) in_class = false;
    if (c == '(' && !in_class && i + 2 < pattern.size() && pattern[i + 1] == '?') {
      if (pattern[i + 2] != ':') return std::nullopt;
      out += '(';
      i += 2;
      continue;
    }
    const bool lazy = c == '?' && !in_class && !out.empty() && i > 0 &&
                      (pattern[i - 1] == '*' || pattern[i - 1] == '+' || pattern[i - 1] == '?') &&
                      (i < 2 || pattern[i - 2] != '\\');
    if (c == '.' && !in_class) {
      out += "[^\n]";
      continue;
    }
    if (lazy) continue;  // greedy or not does not change whether something matches
    out += c;
  }
  return out;
}

}  // namespace

struct Schema::Compiler {
  std::vector<Cause>& causes;

  std::optional<double> number(const Json& json, std::string_view key) {
    const Json* found = json.at(key);
    return found != nullptr && found->is_number() ? std::optional(found->as_double()) : std::nullopt;
  }
  std::optional<std::int64_t> count(const Json& json, std::string_view key) {
    const Json* found = json.at(key);
    return found != nullptr ? found->get_int() : std::nullopt;
  }
  bool flag(const Json& json, std::string_view key) {
    const Json* found = json.at(key);
    return found != nullptr && found->get_bool().value_or(false);
  }

  // `logical`: inside allOf and its like, where a type need not be said again.
  std::shared_ptr<Schema> compile(const Json& json, const std::string& field, bool logical, int depth) {
    auto schema = std::shared_ptr<Schema>(new Schema());
    if (depth > kSchemaDepthMax) {
      causes.push_back(forbidden_value(field, cat("a schema may not be nested deeper than ", kSchemaDepthMax)));
      return schema;
    }
    if (!json.is_object()) {
      causes.push_back(invalid_value(field, json.dump(), "must be an object"));
      return schema;
    }
    unsupported(json, field);
    schema->type_ = json.text_at("type");
    schema->format_ = json.text_at("format");
    schema->nullable_ = flag(json, "nullable");
    schema->int_or_string_ = flag(json, "x-kubernetes-int-or-string");
    schema->preserve_unknown_ = flag(json, "x-kubernetes-preserve-unknown-fields");
    schema->embedded_resource_ = flag(json, "x-kubernetes-embedded-resource");
    static const std::set<std::string, std::less<>> kTypes = {"object",  "array",  "string",
                                                              "integer", "number", "boolean"};
    if (schema->type_.empty() && !schema->int_or_string_ && !schema->preserve_unknown_ && !logical)
      causes.push_back(required_value(field + ".type", "must not be empty for specified object fields"));
    if (!schema->type_.empty() && !kTypes.contains(schema->type_))
      causes.push_back(unsupported_value(field + ".type", Json(schema->type_).dump(),
                                         {"array", "boolean", "integer", "number", "object", "string"}));
    bounds(json, *schema);
    lists(json, *schema, field, depth);
    objects(json, *schema, field, depth);
    logic(json, *schema, field, depth);
    pattern(json, *schema, field);
    if (const Json* values = json.at("enum"); values != nullptr && values->is_array()) {
      schema->enum_ = values->as_array();
      for (const Json& entry : schema->enum_) schema->enum_set_.insert(json_identity(entry));
    }
    if (const Json* value = json.at("default")) {
      schema->default_ = *value;
      std::vector<Cause> wrong;
      schema->validate_at(*value, "", wrong);
      for (Cause& cause : wrong) {
        if (cause.reason == "FieldValueTypeInvalid") cause.reason = "FieldValueInvalid";
        cause.field = cause.field.empty() ? field + ".default" : cat(field, ".default.", cause.field);
        causes.push_back(std::move(cause));
      }
    }
    return schema;
  }

  void unsupported(const Json& json, const std::string& field) {
    if (json.at("x-kubernetes-validations") != nullptr)
      causes.push_back({"FieldValueNotSupported",
                        "Unsupported value: CEL rules (x-kubernetes-validations) are not supported by this API server",
                        field + ".x-kubernetes-validations"});
    for (const char* key : {"$ref", "definitions", "dependencies", "deprecated", "discriminator", "id",
                            "patternProperties", "readOnly", "writeOnly", "xml", "additionalItems"})
      if (json.at(key) != nullptr)
        causes.push_back(forbidden_value(cat(field, ".", key), cat(key, " is not supported")));
  }

  void bounds(const Json& json, Schema& schema) {
    schema.minimum_ = number(json, "minimum");
    schema.maximum_ = number(json, "maximum");
    schema.multiple_of_ = number(json, "multipleOf");
    schema.exclusive_minimum_ = flag(json, "exclusiveMinimum");
    schema.exclusive_maximum_ = flag(json, "exclusiveMaximum");
    schema.min_length_ = count(json, "minLength");
    schema.max_length_ = count(json, "maxLength");
    schema.min_items_ = count(json, "minItems");
    schema.max_items_ = count(json, "maxItems");
    schema.min_properties_ = count(json, "minProperties");
    schema.max_properties_ = count(json, "maxProperties");
    schema.unique_items_ = flag(json, "uniqueItems");
  }

  void lists(const Json& json, Schema& schema, const std::string& field, int depth) {
    if (const Json* items = json.at("items")) {
      if (items->is_array())
        causes.push_back(forbidden_value(field + ".items", "items must be a schema object and not an array"));
      else
        schema.items_ = compile(*items, field + ".items", false, depth + 1);
    } else if (schema.type_ == "array") {
      causes.push_back(required_value(field + ".items", "must be specified"));
    }
    schema.list_type_ = json.text_at("x-kubernetes-list-type");
    if (!schema.list_type_.empty() && schema.list_type_ != "atomic" && schema.list_type_ != "set" &&
        schema.list_type_ != "map")
      causes.push_back(unsupported_value(field + ".x-kubernetes-list-type", Json(schema.list_type_).dump(),
                                         {"atomic", "map", "set"}));
    if (const Json* keys = json.at("x-kubernetes-list-map-keys"); keys != nullptr && keys->is_array())
      for (const Json& key : keys->as_array()) schema.list_keys_.emplace_back(key.get_string().value_or(""));
    if (schema.list_type_ == "map" && schema.list_keys_.empty())
      causes.push_back(
          required_value(field + ".x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map"));
  }

  void objects(const Json& json, Schema& schema, const std::string& field, int depth) {
    if (const Json* properties = json.at("properties"); properties != nullptr && properties->is_object())
      for (const auto& [name, value] : properties->as_object())
        schema.properties_[name] = compile(value, cat(field, ".properties[", name, "]"), false, depth + 1);
    if (const Json* additional = json.at("additionalProperties")) {
      if (!schema.properties_.empty())
        causes.push_back(forbidden_value(field + ".additionalProperties",
                                         "additionalProperties and properties are mutual exclusive"));
      if (additional->is_object())
        schema.additional_ = compile(*additional, field + ".additionalProperties", false, depth + 1);
      else if (additional->is_bool() && additional->as_bool())
        schema.additional_any_ = true;
      else
        causes.push_back(
            forbidden_value(field + ".additionalProperties", "additionalProperties cannot be set to false"));
    }
    if (const Json* required = json.at("required"); required != nullptr && required->is_array())
      for (const Json& name : required->as_array()) schema.required_.emplace_back(name.get_string().value_or(""));
  }

  void logic(const Json& json, Schema& schema, const std::string& field, int depth) {
    const auto several = [&](const char* key, std::vector<std::shared_ptr<const Schema>>& out) {
      const Json* list = json.at(key);
      if (list == nullptr || !list->is_array()) return;
      std::size_t index = 0;
      for (const Json& entry : list->as_array())
        out.push_back(compile(entry, cat(field, ".", key, "[", index++, "]"), true, depth + 1));
    };
    several("allOf", schema.all_of_);
    several("anyOf", schema.any_of_);
    several("oneOf", schema.one_of_);
    if (const Json* negated = json.at("not")) schema.not_ = compile(*negated, field + ".not", true, depth + 1);
  }

  void pattern(const Json& json, Schema& schema, const std::string& field) {
    schema.pattern_ = json.text_at("pattern");
    if (schema.pattern_.empty()) return;
    const auto posix = to_posix(schema.pattern_);
    regex_t compiled;
    if (!posix || too_costly(*posix) || regcomp(&compiled, posix->c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
      causes.push_back(invalid_value(field + ".pattern", Json(schema.pattern_).dump(),
                                     "must be a valid regular expression that this API server supports"));
      return;
    }
    schema.regex_ = compiled;
  }
};

Schema::~Schema() {
  if (regex_) regfree(&*regex_);
}

std::shared_ptr<const Schema> Schema::compile(const Json& json, const std::string& field, std::vector<Cause>& causes) {
  const std::size_t before = causes.size();
  auto schema = Compiler{causes}.compile(json, field, false, 0);
  if (causes.size() == before && schema->type_ != "object")
    causes.push_back(invalid_value(field + ".type", Json(schema->type_).dump(), "must be object at the root"));
  return causes.size() == before ? schema : nullptr;
}

}  // namespace tidemark::kube::memory
