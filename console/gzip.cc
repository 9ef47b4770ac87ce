#include "console/gzip.h"

#include <zlib.h>

#include <limits>

namespace tidemark::console {

std::optional<std::string> gzip(std::string_view text) {
  constexpr int kGzip = 16;  // added to the window: a gzip header, not one of zlib
  constexpr int kMemoryLevel = 8;
  if (text.size() > std::numeric_limits<uInt>::max() / 2) return std::nullopt;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string out(::deflateBound(&stream, text.size()), '\0');
  // zlib does not write to its input.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int done = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return done == Z_STREAM_END ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace tidemark::console
