// Base64 as Go's encoding/base64 reads it, with the place of what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::base {

enum class Base64Padding : std::uint8_t { kRequired, kNone };  // StdEncoding, RawStdEncoding

struct Base64Decoded {
  bool good = false;
  std::string bytes;         // as far as they are good
  std::size_t wrong_at = 0;  // byte of the text, as Go's CorruptInputError counts
};

// Line ends are ignored; bits that stand for no byte may be anything.
Base64Decoded read_base64(std::string_view text, Base64Padding padding = Base64Padding::kRequired);

}  // namespace tidemark::base
