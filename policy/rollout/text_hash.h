// FNV-1a over texts, stirred at the end so that near names do not lie near: to tell revisions apart and to shuffle
// nodes the same way everywhere. Not against forgery.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::policy {

class TextHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      value_ ^= static_cast<unsigned char>(c);
      value_ *= 0x100000001b3;
    }
  }

  std::string hex() const {  // 16 digits
    constexpr std::string_view kDigits = "0123456789abcdef";
    const std::uint64_t stirred = stir(value_);
    std::string out(16, '0');
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = kDigits[(stirred >> (60 - 4 * i)) & 0xf];
    return out;
  }

 private:
  static std::uint64_t stir(std::uint64_t value) {  // the finalizer of splitmix64
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace tidemark::policy
