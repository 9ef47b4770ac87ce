#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/utf8.h"

namespace tidemark::base {
namespace {

constexpr const char* kWantedValue = "expected a value";
constexpr const char* kOpenString = "the string is not closed";

// Up to here a number cannot leave the range of a double, whatever its digits, if it has no exponent.
constexpr std::size_t kSafeNumberSize = 300;  // characters

// Past this many members a look for duplicates by pairs costs more than sorting; hostile input must not make it
// quadratic.
constexpr std::size_t kPairwiseMembersMax = 12;

struct Scan {
  const char* at;               // after what was read, or the offending byte
  const char* error = nullptr;  // a literal
};

bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
}

bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

const char* after_blanks(const char* at, const char* end) {
  while (at < end && is_blank(*at)) ++at;
  return at;
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// Four hex digits; -1 where they are not.
int hex4(const char* at, const char* end) {
  if (end - at < 4) return -1;
  int code = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_value(at[i]);
    if (digit < 0) return -1;
    code = code << 4 | digit;
  }
  return code;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// What the letter after a backslash stands for; 0 for none of them.
constexpr std::array<char, 256> kShortEscapes = [] {
  std::array<char, 256> table{};
  table['"'] = '"';
  table['\\'] = '\\';
  table['/'] = '/';
  table['b'] = '\b';
  table['f'] = '\f';
  table['n'] = '\n';
  table['r'] = '\r';
  table['t'] = '\t';
  return table;
}();

// `at` is behind "\u". A surrogate without its other half is no character and cannot become UTF-8: refused.
template <bool kDecode>
Scan scan_unicode_escape(const char* at, const char* end, std::string* decoded) {
  const int first = hex4(at, end);
  if (first < 0) return {at, "expected four hex digits after \\u"};
  auto code = static_cast<std::uint32_t>(first);
  const char* after = at + 4;
  if (code >= 0xD800 && code < 0xE000) {
    const bool pair_follows = code < 0xDC00 && end - after >= 6 && after[0] == '\\' && after[1] == 'u';
    const int second = pair_follows ? hex4(after + 2, end) : -1;
    if (second < 0xDC00 || second > 0xDFFF) return {at, "a \\u surrogate without its other half"};
    code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<std::uint32_t>(second) - 0xDC00);
    after += 6;
  }
  if constexpr (kDecode) append_utf8(*decoded, code);
  return {after};
}

// The rest of a string from its first byte that is not plain ASCII. Decoding needs what came before in `decoded`
// already, or, where nothing but UTF-8 turns up, needs nothing at all: then `decoded` stays empty and the string is its
// own view.
template <bool kDecode>
Scan scan_rest_of_string(const char* begin, const char* at, const char* end, std::string* decoded, bool& escaped) {
  const char* copied = begin;
  for (;; at = find_json_special(at, end)) {
    if (at == end) return {at, kOpenString};
    const char c = *at;
    if (c == '"') {
      if constexpr (kDecode) {
        if (escaped) decoded->append(copied, at);
      }
      return {at};
    }
    if (c == '\\') {
      if (at + 1 == end) return {at, kOpenString};
      if constexpr (kDecode) {
        if (!escaped) decoded->clear();
        decoded->append(copied, at);
        escaped = true;
      }
      if (at[1] == 'u') {
        const Scan unicode = scan_unicode_escape<kDecode>(at + 2, end, decoded);
        if (unicode.error != nullptr) return unicode;
        at = unicode.at;
      } else {
        const char meant = kShortEscapes[static_cast<unsigned char>(at[1])];
        if (meant == 0) return {at + 1, "no such escape in a string"};
        if constexpr (kDecode) decoded->push_back(meant);
        at += 2;
      }
      if constexpr (kDecode) copied = at;
      continue;
    }
    if (static_cast<unsigned char>(c) < 0x20) return {at, "a control character in a string must be escaped"};
    do {
      const std::size_t length = utf8_length(at, end);
      if (length == 0) return {at, "invalid UTF-8 in a string"};
      at += length;
    } while (at < end && static_cast<unsigned char>(*at) >= 0x80);
  }
}

// `at` is behind the opening quote; answers the place of the closing one.
inline Scan pass_string(const char* at, const char* end) {
  at = find_json_special(at, end);
  if (at < end && *at == '"') [[likely]]
    return {at};
  bool escaped = false;
  return scan_rest_of_string<false>(at, at, end, nullptr, escaped);
}

struct NumberScan {
  const char* at;
  const char* error = nullptr;
  bool is_integer = true;  // neither fraction nor exponent
  bool has_exponent = false;
};

inline NumberScan scan_number(const char* at, const char* end) {
  NumberScan result{at};
  if (at < end && *at == '-') ++at;
  if (at == end || !is_digit(*at)) return {at, kWantedValue};
  if (*at == '0') {
    ++at;
    if (at < end && is_digit(*at)) return {at, "a number must not start with 0"};
  } else {
    while (at < end && is_digit(*at)) ++at;
  }
  if (at < end && *at == '.') {
    ++at;
    result.is_integer = false;
    if (at == end || !is_digit(*at)) return {at, "expected a digit after the decimal point"};
    while (at < end && is_digit(*at)) ++at;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    result.is_integer = false;
    result.has_exponent = true;
    if (at < end && (*at == '+' || *at == '-')) ++at;
    if (at == end || !is_digit(*at)) return {at, "expected a digit in the exponent"};
    while (at < end && is_digit(*at)) ++at;
  }
  result.at = at;
  return result;
}

// Well-formed text to the nearest double. Too small is zero, too large is no number: as in Go's strconv.
bool to_double(std::string_view text, double& out) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && std::isfinite(number)) {
    out = number;
    return true;
  }
  // Out of range one way or the other: the decimal exponent of the first digit that counts tells which.
  constexpr std::int64_t kExponentMax = 1'000'000'000'000;  // far beyond any text's length
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t mark = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, mark);
  std::int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view digits = text.substr(mark + 1);
    const bool below = digits.starts_with('-');
    if (below || digits.starts_with('+')) digits.remove_prefix(1);
    for (const char c : digits) exponent = std::min(exponent * 10 + (c - '0'), kExponentMax);
    if (below) exponent = -exponent;
  }
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  exponent += static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (first != std::string_view::npos && exponent > 0) return false;
  out = negative ? -0.0 : 0.0;
  return true;
}

bool in_double_range(const char* begin, const NumberScan& number) {
  const std::string_view text(begin, number.at);
  double unused;
  return (!number.has_exponent && text.size() <= kSafeNumberSize) || to_double(text, unused);
}

// Of members of one name the last value stays, in the place of the first.
void keep_last_of_duplicates(JsonObject& object) {
  const std::size_t count = object.size();
  if (count < 2) return;
  const auto members = object.begin();
  const auto name = [&](std::size_t i) -> const std::string& { return members[static_cast<std::ptrdiff_t>(i)].first; };

  bool found = false;
  std::vector<std::size_t> order;
  if (count <= kPairwiseMembersMax) {
    for (std::size_t i = 1; i < count && !found; ++i) {
      for (std::size_t j = 0; j < i && !found; ++j) found = name(i) == name(j);
    }
    if (!found) return;
  }
  order.resize(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int compared = name(a).compare(name(b));
    return compared != 0 ? compared < 0 : a < b;
  });
  std::vector<bool> dropped(count);
  for (std::size_t i = 0; i < count;) {
    std::size_t next = i + 1;
    while (next < count && name(order[next]) == name(order[i])) dropped[order[next++]] = true;
    if (next > i + 1) {
      found = true;
      const auto at = [&](std::size_t place) { return members + static_cast<std::ptrdiff_t>(order[place]); };
      at(i)->second = std::move(at(next - 1)->second);
    }
    i = next;
  }
  if (!found) return;
  JsonObject kept;
  for (std::size_t i = 0; i < count; ++i) {
    if (dropped[i]) continue;
    auto& [key, value] = members[static_cast<std::ptrdiff_t>(i)];
    kept.append_unchecked(std::move(key), std::move(value));
  }
  object = std::move(kept);
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
  refuse(at_, why);
}

Error JsonReader::error() const {
  TM_CHECK(error_ != nullptr, "ask ok() first");
  const auto offset = static_cast<std::size_t>(error_at_ - begin_);
  // Only one byte of the text is shown: it may be a secret.
  const std::string found =
      error_at_ == end_ ? std::string("the end of the text") : quoted(std::string_view(error_at_, 1));
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
      return *at_ == '-' || is_digit(*at_) ? Type::kNumber : Type::kError;
  }
}

bool JsonReader::literal(std::string_view word) {
  if (!std::string_view(at_, end_).starts_with(word)) return refuse(at_, kWantedValue);
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

bool JsonReader::next_member(std::string_view& key) {
  const bool first = std::exchange(first_, false);
  TM_CHECK(first || at_ != value_at_ || !ok(), "a member callback must consume its value");
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

bool JsonReader::scan_string(std::string_view& out) {
  const char* const begin = at_ + 1;
  const char* special = find_json_special(begin, end_);
  if (special < end_ && *special == '"') [[likely]] {
    out = std::string_view(begin, special);
    at_ = special + 1;
    return true;
  }
  bool escaped = false;
  const Scan rest = scan_rest_of_string<true>(begin, special, end_, &scratch_, escaped);
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

bool JsonReader::number_text(std::string_view& out) {
  const NumberScan number = scan_number(at_, end_);
  if (number.error != nullptr) return refuse(number.at, number.error);
  out = std::string_view(at_, number.at);
  at_ = number.at;
  return true;
}

bool JsonReader::integer(std::int64_t& out) {
  skip_blanks();
  if (at_ != end_ && *at_ == 'n') return literal("null");
  const char* const begin = at_;
  const NumberScan number = scan_number(begin, end_);
  if (number.error != nullptr)
    return refuse(number.at, number.error == kWantedValue ? "expected an integer" : number.error);
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
  std::string_view text;
  if (!number_text(text)) return false;
  if (!to_double(text, out)) return refuse(begin, "the number is too large for a double");
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
  if (!skip()) return false;
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
  if (at == end) return refuse(at, kWantedValue);
  switch (*at) {
    case '"': {
      const Scan string = pass_string(at + 1, end);
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
      const NumberScan number = scan_number(at, end);
      if (number.error != nullptr) return refuse(number.at, number.error);
      if (!in_double_range(at, number)) return refuse(at, "the number is too large for a double");
      at = number.at;
    }
  }

after_value:
  if (level == 0) {
    at_ = at;
    return true;
  }
  blanks();
  if (at == end) return refuse(at, in_object ? "the object is not closed" : "the array is not closed");
  if (*at == ',') {
    ++at;
    if (!in_object) goto value;
    blanks();
    goto member;
  }
  if (*at != (in_object ? '}' : ']')) {
    return refuse(at, in_object ? "expected , or } after a member" : "expected , or ] after an element");
  }
  ++at;
  up();
  goto after_value;

member:
  if (at == end || *at != '"') return refuse(at, "expected a member name");
  {
    const Scan name = pass_string(at + 1, end);
    if (name.error != nullptr) return refuse(name.at, name.error);
    at = name.at + 1;
  }
  blanks();
  if (at == end || *at != ':') return refuse(at, "expected : after a member name");
  ++at;
  goto value;
}

bool JsonReader::value(Json& out) {
  switch (peek()) {
    case Type::kNull:
      if (!literal("null")) return false;
      out = nullptr;
      return true;
    case Type::kBool: {
      bool flag = false;
      if (!boolean(flag)) return false;
      out = flag;
      return true;
    }
    case Type::kString: {
      std::string_view text;
      if (!scan_string(text)) return false;
      out = text;
      return true;
    }
    case Type::kNumber: {
      const char* const begin = at_;
      const NumberScan number = scan_number(begin, end_);
      if (number.error != nullptr) return refuse(number.at, number.error);
      std::int64_t whole = 0;
      double real = 0;
      if (number.is_integer && std::from_chars(begin, number.at, whole).ec == std::errc()) {
        out = whole;
      } else if (to_double(std::string_view(begin, number.at), real)) {
        out = real;
      } else {
        return refuse(begin, "the number is too large for a double");
      }
      at_ = number.at;
      return true;
    }
    case Type::kArray: {
      Json::Array elements;
      if (!array([&] { value(elements.emplace_back()); })) return false;
      out = std::move(elements);
      return true;
    }
    case Type::kObject: {
      JsonObject members;
      const bool read = object([&](std::string_view key) {
        std::string name(key);
        Json member_value;
        value(member_value);
        members.append_unchecked(std::move(name), std::move(member_value));
      });
      if (!read) return false;
      keep_last_of_duplicates(members);
      out = std::move(members);
      return true;
    }
    case Type::kError:
      break;
  }
  return refuse(at_, kWantedValue);
}

}  // namespace tidemark::base
