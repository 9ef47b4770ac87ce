// JSON: a value tree for generic objects, a pull reader for decoding bytes straight into structs, and a writer.
//
// The reader is the one parser: Json::parse is written on top of it. Strict RFC 8259; UTF-8 is checked; depth is
// bounded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tidemark::base {

class Json;

// Members keep the order in which they came. Look-up is linear: objects here are small, except maps of labels and data,
// which stay under a few hundred.
class JsonObject {
 public:
  using Member = std::pair<std::string, Json>;

  JsonObject() = default;
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key);
  Json& operator[](std::string_view key);      // makes a null member where there is none
  void set(std::string_view key, Json value);  // replaces or appends
  bool erase(std::string_view key);
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  std::size_t size() const;
  bool empty() const;
  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }
  auto begin() { return members_.begin(); }
  auto end() { return members_.end(); }
  void append_unchecked(std::string key, Json value);  // the caller knows the key to be new
  void reserve(std::size_t members);

 private:
  std::vector<Member> members_;
};

// Numbers are int64 where the text is an integer that fits, double otherwise: what Kubernetes' own generic decoder
// does.
class Json {
 public:
  using Array = std::vector<Json>;

  // Defined in json.cc, all of them: what a variant is made of would be instantiated in each file that includes this.
  Json();
  Json(std::nullptr_t);
  Json(bool value);
  Json(int value);
  Json(std::int64_t value);
  Json(double value);
  Json(const char* value);
  Json(std::string_view value);
  Json(std::string value);
  Json(Array value);
  Json(JsonObject value);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();
  // Json::object({{"name", "a"}, {"replicas", 3}})
  static Json object(std::initializer_list<std::pair<std::string_view, Json>> members = {});
  static Json array(std::initializer_list<Json> elements = {});

  // Errors name the byte offset. Duplicate keys: the last one wins, as in Go, in the place of the first. A surrogate
  // without its other half, which Go replaces, is refused; so is a number beyond the range of a double.
  static Result<Json> parse(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_double() const { return std::holds_alternative<double>(value_); }
  bool is_number() const { return is_int() || is_double(); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<JsonObject>(value_); }

  // The as_… family is for values whose kind was checked; a wrong kind is a bug. The get_… family answers nothing
  // where the kind is another one.
  bool as_bool() const { return std::get<bool>(value_); }
  std::int64_t as_int() const { return std::get<std::int64_t>(value_); }
  double as_double() const { return is_int() ? static_cast<double>(as_int()) : std::get<double>(value_); }
  const std::string& as_string() const { return std::get<std::string>(value_); }
  std::string& as_string() { return std::get<std::string>(value_); }
  const Array& as_array() const { return std::get<Array>(value_); }
  Array& as_array() { return std::get<Array>(value_); }
  const JsonObject& as_object() const { return std::get<JsonObject>(value_); }
  JsonObject& as_object() { return std::get<JsonObject>(value_); }

  std::optional<std::string_view> get_string() const;
  std::optional<std::int64_t> get_int() const;
  std::optional<bool> get_bool() const;

  // Walks members of nested objects; nullptr where the path ends early. value.at("metadata", "name")
  template <class... Keys>
  const Json* at(std::string_view key, Keys... rest) const {
    const Json* next = member(key);
    if constexpr (sizeof...(rest) == 0) {
      return next;
    } else {
      return next == nullptr ? nullptr : next->at(rest...);
    }
  }
  template <class... Keys>
  std::string_view text_at(Keys... keys) const {  // "" where there is no string
    const Json* found = at(keys...);
    return found != nullptr && found->is_string() ? std::string_view(found->as_string()) : std::string_view();
  }
  const Json* member(std::string_view key) const { return is_object() ? as_object().find(key) : nullptr; }
  // Makes this an object if it is null; a bug if it is anything else.
  Json& operator[](std::string_view key);

  std::string dump() const;         // compact, members in their order
  std::string dump_pretty() const;  // two blanks a level
  void append_to(std::string& out) const;

  // Numbers compare by value (1 == 1.0), as doubles where one of them is one; objects compare without regard to member
  // order.
  friend bool operator==(const Json& a, const Json& b);

 private:
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, JsonObject> value_;
};

inline std::size_t JsonObject::size() const {
  return members_.size();
}
inline bool JsonObject::empty() const {
  return members_.empty();
}

// A pull reader over bytes that outlive it. The first error sticks: every later call does nothing and answers false, so
// that a decoder is written without a check on every line and asks ok() once at the end.
//
//   JsonReader reader(bytes);
//   reader.object([&](std::string_view key) {
//     if (key == "name") reader.string(pod.name);
//     else reader.skip();
//   });
//   TM_TRY_VOID(reader.finish());
//
// A member or element callback must consume exactly one value (one reader call); anything else is a bug.
class JsonReader {
 public:
  static constexpr int kDepthMax = 128;

  explicit JsonReader(std::string_view text) : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  enum class Type { kNull, kBool, kNumber, kString, kArray, kObject, kError };
  Type peek();  // the kind of the next value; consumes only white space

  // The key is a view that is valid until the next string is read. null counts as an empty object or array.
  template <class OnMember>
  bool object(OnMember&& on_member) {
    if (!enter('{')) return ok();
    std::string_view key;
    while (next_member(key)) on_member(key);
    return ok();
  }
  template <class OnElement>
  bool array(OnElement&& on_element) {
    if (!enter('[')) return ok();
    while (next_element()) on_element();
    return ok();
  }

  // null leaves the target as it is, like Go's decoder.
  bool string(std::string& out);
  bool string_view(std::string_view& out);  // valid until the next string is read (escapes need a buffer)
  bool integer(std::int64_t& out);          // a fraction or an overflow is an error
  bool number(double& out);
  bool boolean(bool& out);
  bool skip();                      // validates what it passes over
  bool raw(std::string_view& out);  // skips one value and answers its bytes
  bool value(Json& out);            // one value as a tree

  bool ok() const { return error_ == nullptr; }
  // For decoders: the value is well-formed but wrong. Names the place of the member or element that was begun last.
  // `why` is kept, not copied: a literal.
  void fail_here(const char* why);
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  // Only white space may follow. The error names the byte offset and shows no more than one byte of the text.
  Result<void> finish();
  Error error() const;  // where ok() is false; a bug elsewhere

 private:
  friend class JsonTreeReader;
  bool refuse(const char* at, const char* why);  // answers false
  bool enter(char open);
  bool next_member(std::string_view& key);
  bool next_element();
  bool compact_member(bool first, std::string_view& key);
  bool scan_string(std::string_view& out);
  bool scan_special_string(const char* special, std::string_view& out);  // with escapes or beyond ASCII, or wrong
  void skip_blanks();
  bool literal(std::string_view word);
  bool number_follows() const;
  bool any_number(Json& out);

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* error_ = nullptr;  // a literal
  const char* error_at_ = nullptr;
  const char* value_at_ = nullptr;  // where the callback that runs found its value
  int depth_ = 0;
  bool first_ = false;  // just after an opening bracket
  std::string scratch_;
};

// Appends JSON text; puts commas by itself. Doubles look as Go's encoding/json prints them; what is not finite becomes
// null, and what is not UTF-8 becomes U+FFFD.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view);
  JsonWriter& value(std::string_view);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::int64_t);
  JsonWriter& value(int number) { return value(std::int64_t{number}); }
  JsonWriter& value(double);
  JsonWriter& value(bool);
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // already JSON
  template <class T>
  JsonWriter& member(std::string_view name, const T& what) {
    key(name);
    return value(what);
  }

 private:
  void separate();
  std::string& out_;
  bool need_comma_ = false;
};

void append_json_string(std::string& out, std::string_view text);

}  // namespace tidemark::base

namespace tidemark {
using base::Json;
}  // namespace tidemark
