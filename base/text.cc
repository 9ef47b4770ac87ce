#include "base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/base64.h"
#include "base/utf8.h"

namespace tidemark::base {
namespace {

constexpr std::string_view kBase64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
// A longer word is never a slip of the fingers, and the distance costs the product of both lengths.
constexpr std::size_t kNearestWordMax = 64;  // bytes

constexpr char kHexDigits[] = "0123456789abcdef";

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

namespace detail {

void append(std::string& out, double part) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
}

}  // namespace detail

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<std::uint64_t> parse_uint(std::string_view text) {
  return parse_whole<std::uint64_t>(text);
}

std::optional<double> parse_double(std::string_view text) {
  const auto number = parse_whole<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;  // "inf" and "nan" are words, not numbers
  return number;
}

std::optional<bool> parse_go_bool(std::string_view text) {
  for (const std::string_view word : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == word) return true;
  }
  for (const std::string_view word : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

bool switched_on(std::string_view name, std::span<const std::string> words) {
  for (const std::string_view word : words) {
    if (word == name) return true;
    if (word.starts_with('-') && word.substr(1) == name) return false;
  }
  return std::ranges::find(words, "*") != words.end();
}

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kNearestWordMax) return std::nullopt;
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > kNearestWordMax) continue;
    const std::size_t distance = edit_distance(word, candidate);
    // One slip in three letters, and always one; more is another word.
    const std::size_t allowed = std::max<std::size_t>(1, std::min(word.size(), candidate.size()) / 3);
    if (distance > allowed || distance >= candidate.size()) continue;
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t digit = 0; digit < 4; ++digit) {
      out.push_back(digit <= have ? kBase64Alphabet[group >> (18 - 6 * digit) & 0x3F] : '=');
    }
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  Base64Decoded decoded = read_base64(text);
  return decoded.good ? std::optional(std::move(decoded.bytes)) : std::nullopt;
}

std::string in_quotes(std::string_view text, std::size_t limit) {
  std::string out = "\"";
  const char* at = text.data();
  const char* const end = at + text.size();
  const char* const stop = at + std::min(limit, text.size());
  while (at < stop) {
    const auto byte = static_cast<unsigned char>(*at);
    const std::size_t length = utf8_length(at, end);
    if (static_cast<std::size_t>(stop - at) < length) break;  // half a character is not shown
    if (length > 1) {
      out.append(at, length);
    } else if (length == 0 || byte < 0x20 || byte == 0x7F) {
      switch (byte) {
        case '\n':
          out.append("\\n");
          break;
        case '\r':
          out.append("\\r");
          break;
        case '\t':
          out.append("\\t");
          break;
        default:
          out.append("\\x").append({kHexDigits[byte >> 4], kHexDigits[byte & 0xF]});
      }
    } else {
      if (byte == '"' || byte == '\\') out.push_back('\\');
      out.push_back(*at);
    }
    at += std::max<std::size_t>(1, length);
  }
  out.push_back('"');
  if (at < end) out.append("...");
  return out;
}

bool valid_utf8(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    if (end - at >= 8) {
      std::uint64_t word;
      std::memcpy(&word, at, sizeof word);
      if ((word & 0x8080808080808080U) == 0) {
        at += 8;
        continue;
      }
    }
    const std::size_t length = utf8_length(at, end);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

}  // namespace tidemark::base
