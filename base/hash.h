// A 64-bit hash of text that is the same on every machine and in every version (FNV-1a): to tell contents apart and to
// name them. Not against forgery.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::base {

class TextHash {
 public:
  TextHash& add(std::string_view text);
  std::uint64_t value() const { return value_; }
  std::string hex() const;  // 16 digits

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace tidemark::base
