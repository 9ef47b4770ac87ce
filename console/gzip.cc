#include "console/gzip.h"

#include <zlib.h>

#include <cstddef>
#include <limits>
#include <utility>

namespace tidemark::console {
namespace {

constexpr std::size_t kFastFrom = 128 * 1024;  // the loop waits for zlib

std::optional<std::string> deflated(std::string_view text, int window_bits, int level, int flush) {
  constexpr int kMemoryLevel = 8;
  constexpr std::size_t kFlushBytes = 16;  // beyond the bound
  if (text.size() > std::numeric_limits<uInt>::max() / 2) return std::nullopt;
  z_stream stream{};
  if (::deflateInit2(&stream, level, Z_DEFLATED, window_bits, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string out(::deflateBound(&stream, text.size()) + kFlushBytes, '\0');
  // zlib does not write to its input.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = ::deflate(&stream, flush);
  const bool whole = done == Z_STREAM_END || (done == Z_OK && stream.avail_in == 0 && stream.avail_out > 0);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return whole ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<std::string> gzip(std::string_view text) {
  constexpr int kGzip = 16;  // added to the window: a gzip header, not one of zlib
  return deflated(text, MAX_WBITS + kGzip, Z_BEST_SPEED, Z_FINISH);
}

std::optional<GzipPiece> gzip_piece(std::string_view text) {
  const int level = text.size() < kFastFrom ? Z_DEFAULT_COMPRESSION : Z_BEST_SPEED;
  auto bytes = deflated(text, -MAX_WBITS, level, Z_SYNC_FLUSH);
  if (!bytes) return std::nullopt;
  const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  return GzipPiece{*std::move(bytes), static_cast<std::uint32_t>(crc), static_cast<std::uint32_t>(text.size())};
}

void GzipSum::add(const GzipPiece& piece) {
  crc_ = static_cast<std::uint32_t>(::crc32_combine(crc_, piece.crc, static_cast<z_off_t>(piece.size)));
  size_ += piece.size;
}

std::string GzipSum::tail() const {
  std::string out("\x03\x00", 2);  // an empty last block
  for (const std::uint32_t value : {crc_, size_}) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
  }
  return out;
}

}  // namespace tidemark::console
