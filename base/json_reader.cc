#include <array>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/json_scan.h"

namespace tidemark::base {
namespace {

constexpr const char* kTooLarge = "the number is too large for a double";

// Up to here a number cannot leave the range of a double, whatever its digits, if it has no exponent.
constexpr std::ptrdiff_t kSafeNumberSize = 300;  // characters

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

const char* after_blanks(const char* at, const char* end) {
  while (at < end && is_blank(*at)) ++at;
  return at;
}

bool in_double_range(const char* begin, const JsonNumber& number) {
  return (!number.has_exponent && number.at - begin <= kSafeNumberSize) ||
         json_number_to_double(std::string_view(begin, number.at));
}

}  // namespace

// After an error nothing is left to read: every later call finds the end, fails there, and the first error stays.
bool JsonReader::refuse(const char* at, const char* why) {
  if (error_ == nullptr) {
    error_ = why;
    error_at_ = at;
  }
  at_ = end_;
  return false;
}

void JsonReader::fail_here(const char* why) {
  refuse(value_at_ == nullptr ? begin_ : after_blanks(value_at_, end_), why);
}

Error JsonReader::error() const {
  TM_CHECK(error_ != nullptr, "ask ok() first");
  const auto offset = static_cast<std::size_t>(error_at_ - begin_);
  // Only one byte of the text is shown: it may be a secret.
  const std::string found =
      error_at_ == end_ ? std::string("the end of the text") : in_quotes(std::string_view(error_at_, 1));
  return Error{ErrorKind::kInvalid, cat("JSON at byte ", offset, ": ", error_, ", found ", found), 0, 0};
}

Result<void> JsonReader::finish() {
  if (ok()) {
    skip_blanks();
    if (at_ != end_) refuse(at_, "expected nothing after the value");
  }
  if (!ok()) return fail(error());
  return {};
}

void JsonReader::skip_blanks() {
  at_ = after_blanks(at_, end_);
}

JsonReader::Type JsonReader::peek() {
  skip_blanks();
  if (at_ == end_) return Type::kError;
  switch (*at_) {
    case 'n':
      return Type::kNull;
    case 't':
    case 'f':
      return Type::kBool;
    case '"':
      return Type::kString;
    case '[':
      return Type::kArray;
    case '{':
      return Type::kObject;
    default:
      return number_follows() ? Type::kNumber : Type::kError;
  }
}

bool JsonReader::literal(std::string_view word) {
  if (!std::string_view(at_, end_).starts_with(word)) return refuse(at_, kJsonWantedValue);
  at_ += word.size();
  return true;
}

bool JsonReader::enter(char open) {
  skip_blanks();
  if (at_ == end_ || *at_ != open) {
    if (at_ != end_ && *at_ == 'n') {
      literal("null");
    } else {
      refuse(at_, open == '{' ? "expected an object" : "expected an array");
    }
    return false;
  }
  if (depth_ == kDepthMax) return refuse(at_, "nested too deeply");
  ++depth_;
  ++at_;
  first_ = true;
  return true;
}

inline bool JsonReader::scan_string(std::string_view& out) {
  const char* const begin = at_ + 1;
  const char* const special = find_json_special(begin, end_);
  if (special == end_ || *special != '"') [[unlikely]]
    return scan_special_string(special, out);
  out = std::string_view(begin, special);
  at_ = special + 1;
  return true;
}

// What programs write has no blanks, and no escapes in its names: `,"name":` is found in one go. Answers false, and has
// read nothing, where it is not just so.
inline bool JsonReader::compact_member(bool first, std::string_view& key) {
  const char* const quote = at_ + (first ? 0 : 1);
  if (end_ - at_ < 2 || (!first && *at_ != ',') || *quote != '"') return false;
  const char* const special = find_json_special(quote + 1, end_);
  if (end_ - special < 2 || special[0] != '"' || special[1] != ':') return false;
  key = std::string_view(quote + 1, special);
  value_at_ = at_ = special + 2;
  return true;
}

bool JsonReader::next_member(std::string_view& key) {
  const bool first = std::exchange(first_, false);
  TM_CHECK(first || at_ != value_at_ || !ok(), "a member callback must consume its value");
  if (compact_member(first, key)) [[likely]]
    return true;
  skip_blanks();
  if (at_ != end_ && *at_ == '}') {
    ++at_;
    --depth_;
    return false;
  }
  if (!first) {
    if (at_ == end_ || *at_ != ',') return refuse(at_, "expected , or } after a member");
    ++at_;
    skip_blanks();
  }
  if (at_ == end_ || *at_ != '"') return refuse(at_, "expected a member name");
  if (!scan_string(key)) return false;
  skip_blanks();
  if (at_ == end_ || *at_ != ':') return refuse(at_, "expected : after a member name");
  ++at_;
  value_at_ = at_;
  return true;
}

bool JsonReader::next_element() {
  const bool first = std::exchange(first_, false);
  TM_CHECK(first || at_ != value_at_ || !ok(), "an element callback must consume its value");
  skip_blanks();
  if (at_ != end_ && *at_ == ']') {
    ++at_;
    --depth_;
    return false;
  }
  if (!first) {
    if (at_ == end_ || *at_ != ',') return refuse(at_, "expected , or ] after an element");
    ++at_;
  }
  value_at_ = at_;
  return true;
}

bool JsonReader::scan_special_string(const char* special, std::string_view& out) {
  const char* const begin = at_ + 1;
  bool escaped = false;
  const JsonScan rest = decode_json_string_rest(begin, special, end_, scratch_, escaped);
  if (rest.error != nullptr) return refuse(rest.at, rest.error);
  out = escaped ? std::string_view(scratch_) : std::string_view(begin, rest.at);
  at_ = rest.at + 1;
  return true;
}

bool JsonReader::string_view(std::string_view& out) {
  skip_blanks();
  if (at_ == end_) return refuse(at_, "expected a string");
  if (*at_ == '"') return scan_string(out);
  if (*at_ == 'n') return literal("null");
  return refuse(at_, "expected a string");
}

bool JsonReader::string(std::string& out) {
  skip_blanks();
  if (at_ != end_ && *at_ == 'n') return literal("null");
  std::string_view text;
  if (!string_view(text)) return false;
  out.assign(text);
  return true;
}

bool JsonReader::number_follows() const {
  return at_ != end_ && (*at_ == '-' || (*at_ >= '0' && *at_ <= '9'));
}

bool JsonReader::integer(std::int64_t& out) {
  skip_blanks();
  if (at_ != end_ && *at_ == 'n') return literal("null");
  const char* const begin = at_;
  if (!number_follows()) return refuse(begin, "expected an integer");
  const JsonNumber number = scan_json_number(begin, end_);
  if (number.error != nullptr) return refuse(number.at, number.error);
  if (!number.is_integer) return refuse(begin, "expected an integer, not a fraction");
  std::int64_t value = 0;
  if (std::from_chars(begin, number.at, value).ec != std::errc()) {
    return refuse(begin, "the integer does not fit into 64 bits");
  }
  out = value;
  at_ = number.at;
  return true;
}

bool JsonReader::number(double& out) {
  skip_blanks();
  if (at_ != end_ && *at_ == 'n') return literal("null");
  const char* const begin = at_;
  if (!number_follows()) return refuse(begin, "expected a number");
  const JsonNumber number = scan_json_number(begin, end_);
  if (number.error != nullptr) return refuse(number.at, number.error);
  const auto value = json_number_to_double(std::string_view(begin, number.at));
  if (!value) return refuse(begin, kTooLarge);
  out = *value;
  at_ = number.at;
  return true;
}

// An integer where it is one that fits, a double otherwise.
bool JsonReader::any_number(Json& out) {
  const char* const begin = at_;
  const JsonNumber number = scan_json_number(begin, end_);
  if (number.error != nullptr) return refuse(number.at, number.error);
  std::int64_t whole = 0;
  if (number.is_integer && std::from_chars(begin, number.at, whole).ec == std::errc()) {
    out = whole;
  } else if (const auto real = json_number_to_double(std::string_view(begin, number.at))) {
    out = *real;
  } else {
    return refuse(begin, kTooLarge);
  }
  at_ = number.at;
  return true;
}

bool JsonReader::boolean(bool& out) {
  skip_blanks();
  if (at_ == end_) return refuse(at_, "expected true or false");
  switch (*at_) {
    case 't':
      if (!literal("true")) return false;
      out = true;
      return true;
    case 'f':
      if (!literal("false")) return false;
      out = false;
      return true;
    case 'n':
      return literal("null");
    default:
      return refuse(at_, "expected true or false");
  }
}

bool JsonReader::raw(std::string_view& out) {
  skip_blanks();
  const char* const begin = at_;
  if (at_ != end_ && *at_ == '"') {
    std::string_view text;
    if (!scan_string(text)) return false;
  } else if (!skip()) {
    return false;
  }
  out = std::string_view(begin, at_);
  return true;
}

// Not recursive: where a value nests, one bit a level remembers whether it is an object.
bool JsonReader::skip() {
  std::array<std::uint64_t, kDepthMax / 64> objects{};
  static_assert(kDepthMax % 64 == 0);
  const int room = kDepthMax - depth_;
  int level = 0;
  bool in_object = false;
  const char* at = at_;
  const char* const end = end_;

  const auto down = [&](bool object) {
    const std::uint64_t bit = std::uint64_t{1} << (level % 64);
    std::uint64_t& word = objects[static_cast<std::size_t>(level / 64)];
    word = object ? word | bit : word & ~bit;
    in_object = object;
    ++level;
  };
  const auto up = [&] {
    --level;
    if (level == 0) return;
    const int outer = level - 1;
    in_object = (objects[static_cast<std::size_t>(outer / 64)] >> (outer % 64) & 1) != 0;
  };
  const auto blanks = [&] { at = after_blanks(at, end); };

value:
  blanks();
  if (at == end) return refuse(at, kJsonWantedValue);
  switch (*at) {
    case '"': {
      const JsonScan string = pass_json_string(at + 1, end);
      if (string.error != nullptr) return refuse(string.at, string.error);
      at = string.at + 1;
      break;
    }
    case '{':
      if (level == room) return refuse(at, "nested too deeply");
      down(true);
      ++at;
      blanks();
      if (at == end || *at != '}') goto member;
      ++at;
      up();
      break;
    case '[':
      if (level == room) return refuse(at, "nested too deeply");
      down(false);
      ++at;
      blanks();
      if (at == end || *at != ']') goto value;
      ++at;
      up();
      break;
    case 't':
    case 'f':
    case 'n': {
      at_ = at;
      if (!literal(*at == 't' ? "true" : *at == 'f' ? "false" : "null")) return false;
      at = at_;
      break;
    }
    default: {
      const JsonNumber number = scan_json_number(at, end);
      if (number.error != nullptr) return refuse(number.at, number.error);
      if (!in_double_range(at, number)) return refuse(at, kTooLarge);
      at = number.at;
    }
  }

after_value:
  if (level == 0) {
    at_ = at;
    return true;
  }
  blanks();
  if (at != end && *at == ',') {
    ++at;
    if (!in_object) goto value;
    blanks();
    goto member;
  }
  if (at == end || *at != (in_object ? '}' : ']')) {
    return refuse(at, in_object ? "expected , or } after a member" : "expected , or ] after an element");
  }
  ++at;
  up();
  goto after_value;

member:
  if (at == end || *at != '"') return refuse(at, "expected a member name");
  {
    const JsonScan name = pass_json_string(at + 1, end);
    if (name.error != nullptr) return refuse(name.at, name.error);
    at = name.at + 1;
  }
  blanks();
  if (at == end || *at != ':') return refuse(at, "expected : after a member name");
  ++at;
  goto value;
}

}  // namespace tidemark::base
