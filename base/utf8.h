// The one UTF-8 check, shared by the text helpers and by JSON.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace tidemark::base {

// The length of the well-formed character at `at`, 1 to 4 bytes; 0 where there is none: a stray or missing continuation
// byte, an overlong form, a surrogate, or a code point above U+10FFFF (RFC 3629). `at` must be before `end`.
inline std::size_t utf8_length(const char* at, const char* end) {
  const auto byte = [at](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  const auto left = static_cast<std::size_t>(end - at);
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return left >= 2 && continues(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !continues(1) || !continues(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) >= 0xA0) return 0;
    return 3;
  }
  if (lead > 0xF4 || left < 4 || !continues(1) || !continues(2) || !continues(3)) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;
  return 4;
}

// The longest beginning of at most `bytes_max` bytes that cuts no character in two.
inline std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  const char* const end = text.data() + text.size();
  std::size_t at = 0;
  while (at < bytes_max) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text.data() + at, end), 1);
    if (at + length > bytes_max) break;
    at += length;
  }
  return text.substr(0, at);
}

}  // namespace tidemark::base
