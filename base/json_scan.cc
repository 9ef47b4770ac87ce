#include "base/json_scan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace tidemark::base {
namespace {

constexpr const char* kOpenString = "the string is not closed";

bool is_digit(char c) {
  return static_cast<unsigned char>(c - '0') < 10;
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
JsonScan scan_unicode_escape(const char* at, const char* end, std::string* decoded) {
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
JsonScan scan_rest_of_string(const char* begin, const char* at, const char* end, std::string* decoded, bool& escaped) {
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
        const JsonScan unicode = scan_unicode_escape<kDecode>(at + 2, end, decoded);
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

}  // namespace

JsonScan pass_json_string_rest(const char* at, const char* end) {
  bool escaped = false;
  return scan_rest_of_string<false>(at, at, end, nullptr, escaped);
}

JsonScan decode_json_string_rest(const char* begin, const char* at, const char* end, std::string& decoded,
                                 bool& escaped) {
  return scan_rest_of_string<true>(begin, at, end, &decoded, escaped);
}

JsonNumber scan_json_number(const char* at, const char* end) {
  JsonNumber result{at};
  if (at < end && *at == '-') ++at;
  if (at == end || !is_digit(*at)) return {at, kJsonWantedValue};
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

std::optional<double> json_number_to_double(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && std::isfinite(number)) {
    return number;
  }
  // Out of range one way or the other: the decimal exponent of the first significant digit decides.
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
  if (first != std::string_view::npos && exponent > 0) return std::nullopt;
  return negative ? -0.0 : 0.0;
}

}  // namespace tidemark::base
