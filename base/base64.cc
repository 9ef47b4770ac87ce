#include "base/base64.h"

#include <array>

namespace tidemark::base {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xFF;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}();

bool ends_line(char c) {
  return c == '\n' || c == '\r';
}

}  // namespace

// Four digits are three bytes; two and "==" are one, three and "=" are two, and nothing but line ends follows those.
Base64Decoded read_base64(std::string_view text, Base64Padding padding) {
  Base64Decoded out;
  out.bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  std::size_t digits = 0;
  const auto take = [&] {
    for (std::size_t i = 1; i < digits; ++i)
      out.bytes.push_back(static_cast<char>(bits >> (6 * digits - 8 * i) & 0xFF));
    bits = 0;
    digits = 0;
  };
  const auto wrong = [&](std::size_t at) {
    out.wrong_at = at;
    return out;
  };
  std::size_t at = 0;
  const auto skip_line_ends = [&] {
    while (at < text.size() && ends_line(text[at])) ++at;
  };
  while (at < text.size()) {
    const char c = text[at++];
    if (const std::uint8_t value = kValues[static_cast<unsigned char>(c)]; value != kNone) {
      bits = bits << 6 | value;
      if (++digits == 4) take();
      continue;
    }
    if (ends_line(c)) continue;
    if (c != '=' || padding == Base64Padding::kNone || digits < 2) return wrong(at - 1);
    if (digits == 2) {
      skip_line_ends();
      if (at == text.size()) return wrong(at);
      if (text[at] != '=') return wrong(at - 1);
      ++at;
    }
    skip_line_ends();
    if (at < text.size()) return wrong(at);
    take();
    out.good = true;
    return out;
  }
  if (digits == 1 || (digits != 0 && padding == Base64Padding::kRequired)) return wrong(at - digits);
  take();
  out.good = true;
  return out;
}

}  // namespace tidemark::base
