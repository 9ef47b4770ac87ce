// Compresses answers, and streams in pieces that many readers share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::console {

// As a gzip file, at the fastest level: an answer is compressed for one client. nullopt: the library refuses.
std::optional<std::string> gzip(std::string_view text);

// A piece of a gzip stream. It refers to no other piece, so it is compressed once and goes into each stream:
//   kGzipHead, pieces in any order, GzipSum::tail()
struct GzipPiece {
  std::string bytes;
  std::uint32_t crc = 0, size = 0;  // of the text
};
std::optional<GzipPiece> gzip_piece(std::string_view text);  // nullopt: the library refuses

inline constexpr std::string_view kGzipHead{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10};

// The checksum of one stream.
class GzipSum {
 public:
  void add(const GzipPiece& piece);
  std::string tail() const;

 private:
  std::uint32_t crc_ = 0, size_ = 0;
};

}  // namespace tidemark::console
