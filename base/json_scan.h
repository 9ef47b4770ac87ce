// The grammar below values: strings and numbers. Private to the JSON files of this folder.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tidemark::base {

inline bool is_plain_in_json_string(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// The hot loop of reader and writer: the first quote, backslash, control character or non-ASCII byte in [at, end), or
// `end`. Never reads past `end`.
inline const char* find_json_special(const char* at, const char* end) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i blank = _mm_set1_epi8(' ');
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // The comparison is signed: non-ASCII bytes are negative, so one instruction finds them and the control characters.
    const __m128i special = _mm_or_si128(_mm_cmplt_epi8(bytes, blank),
                                         _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) return at + std::countr_zero(mask);
    at += 16;
  }
#endif
  if constexpr (std::endian::native == std::endian::little) {
    constexpr std::uint64_t kOnes = 0x0101010101010101U;
    constexpr std::uint64_t kHighs = 0x8080808080808080U;
    while (end - at >= 8) {
      std::uint64_t word;
      std::memcpy(&word, at, sizeof word);
      const std::uint64_t no_quote = word ^ (kOnes * '"');
      const std::uint64_t no_backslash = word ^ (kOnes * '\\');
      // A borrow can mark a byte above a true hit, never below: the lowest mark is right.
      const std::uint64_t found = (((no_quote - kOnes) & ~no_quote) | ((no_backslash - kOnes) & ~no_backslash) |
                                   ((word - kOnes * 0x20) & ~word) | word) &
                                  kHighs;
      if (found != 0) return at + std::countr_zero(found) / 8;
      at += 8;
    }
  }
  while (at < end && is_plain_in_json_string(*at)) ++at;
  return at;
}

struct JsonScan {
  const char* at;               // the closing quote, or the byte that is wrong
  const char* error = nullptr;  // a literal
};

// The rest of a string from its first byte that is not plain, validated and passed over.
JsonScan pass_json_string_rest(const char* at, const char* end);

// The same, decoding: `begin` is the first byte of the string. Without an escape the text is its own value, `decoded`
// is not touched and `escaped` stays false.
JsonScan decode_json_string_rest(const char* begin, const char* at, const char* end, std::string& decoded,
                                 bool& escaped);

// `at` is behind the opening quote.
inline JsonScan pass_json_string(const char* at, const char* end) {
  at = find_json_special(at, end);
  if (at < end && *at == '"') [[likely]]
    return {at};
  return pass_json_string_rest(at, end);
}

struct JsonNumber {
  const char* at;               // behind the number, or the byte that is wrong
  const char* error = nullptr;  // a literal
  bool is_integer = true;       // neither fraction nor exponent
  bool has_exponent = false;
};

JsonNumber scan_json_number(const char* at, const char* end);

// The nearest double to the text of a well-formed number. Too small is zero, too large is no number: as in Go's
// strconv.
std::optional<double> json_number_to_double(std::string_view text);

inline constexpr const char* kJsonWantedValue = "expected a value";

}  // namespace tidemark::base
