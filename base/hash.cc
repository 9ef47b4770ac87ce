#include "base/hash.h"

#include <cstddef>

namespace tidemark::base {

TextHash& TextHash::add(std::string_view text) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  for (const char c : text) {
    value_ ^= static_cast<unsigned char>(c);
    value_ *= kPrime;
  }
  return *this;
}

std::string TextHash::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(16, '0');
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kDigits[(value_ >> (60 - 4 * i)) & 0xf];
  return out;
}

}  // namespace tidemark::base
